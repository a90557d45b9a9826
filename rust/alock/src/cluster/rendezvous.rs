//! Who is there: a TCP connection of every node to the one with rank 0, over which they
//! exchange addresses, wait for each other, and show that they are alive.

use std::io::{self, BufReader};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::Serialize;

use super::wire::{receive, send, FromServer, ToServer};
use super::{Error, Health, Reason};

/// What nodes of one cluster must have in common.
pub const VERSION: u32 = 1;

/// A node's connection to the others.
#[derive(Debug)]
pub struct Rendezvous {
    rank: u16,
    size: u16,
    server: Arc<Mutex<TcpStream>>,
    all: Mutex<Receiver<Result<Vec<serde_json::Value>, String>>>,
    pub(crate) health: Arc<Health>,
    patience: Duration,
}

fn failed(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
    let what = what.into();
    move |source| Error::Rendezvous { what, source }
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Rendezvous {
    /// Joins the cluster of `size` nodes as number `rank`. Rank 0 listens at `address`
    /// (HOST:PORT), the others connect to it; each waits `patience` for the others to come.
    /// A node that is not heard of for `silence` counts as lost.
    ///
    /// # Errors
    /// [`Error::Rendezvous`] where nobody comes in time; [`Error::Mismatch`] for nodes of
    /// another version or size, or with one rank.
    pub fn join(
        address: &str,
        rank: u16,
        size: u16,
        patience: Duration,
        silence: Duration,
    ) -> Result<Self, Error> {
        if size == 0 || rank >= size {
            return Err(Error::OutOfRange {
                what: "the rank",
                is: rank.into(),
                least: 0,
                most: u64::from(size.max(1)) - 1,
            });
        }
        if rank == 0 {
            let listener =
                TcpListener::bind(address).map_err(failed(format!("listen at {address}")))?;
            thread::spawn(move || serve(&listener, size, silence));
        }
        let until = Instant::now() + patience;
        let stream = loop {
            match TcpStream::connect(address) {
                Ok(stream) => break stream,
                Err(error) if Instant::now() >= until => {
                    return Err(failed(format!("connect to {address}"))(error))
                }
                // It may not listen yet.
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        };
        let set_up = || -> io::Result<_> {
            stream.set_nodelay(true)?;
            // Silence is an end.
            stream.set_read_timeout(Some(silence))?;
            let reader = BufReader::new(stream.try_clone()?);
            send(
                &mut &stream,
                &ToServer::Hello {
                    version: VERSION,
                    rank,
                    size,
                },
            )?;
            Ok(reader)
        };
        let reader = set_up().map_err(failed(format!("greet {address}")))?;
        let server = Arc::new(Mutex::new(stream));
        let health = Arc::new(Health::default());
        let (tell, told) = channel();
        let its = Arc::clone(&health);
        thread::spawn(move || listen(reader, &its, &tell));
        let its = Arc::downgrade(&server);
        thread::spawn(move || {
            while let Some(server) = its.upgrade() {
                if send(&mut *lock(&server), &ToServer::Alive).is_err() {
                    return;
                }
                drop(server);
                thread::sleep(silence / 8);
            }
        });
        Ok(Self {
            rank,
            size,
            server,
            all: Mutex::new(told),
            health,
            patience,
        })
    }

    /// This node's number.
    pub fn rank(&self) -> u16 {
        self.rank
    }

    /// How many nodes there are.
    pub fn size(&self) -> u16 {
        self.size
    }

    /// Tells everybody `mine`, waits until everybody has told his, and returns them by rank.
    /// All nodes call it equally often.
    ///
    /// # Errors
    /// [`Error::Lost`] when somebody is gone, [`Error::Rendezvous`] when somebody does not
    /// come in time, [`Error::Mismatch`] where a part is not of this type.
    pub fn exchange<T: Serialize + DeserializeOwned>(&self, mine: &T) -> Result<Vec<T>, Error> {
        let broken = || failed("tell the others");
        let data = serde_json::to_value(mine).map_err(|error| broken()(error.into()))?;
        let told = send(&mut *lock(&self.server), &ToServer::Tell { data });
        let until = Instant::now() + self.patience;
        let all = loop {
            if let Some(all) = self.heard()? {
                break all;
            }
            if Instant::now() >= until {
                told.map_err(broken())?;
                let late = io::ErrorKind::TimedOut;
                return Err(failed("wait for the others")(late.into()));
            }
        };
        let parts = all.into_iter().map(serde_json::from_value);
        let parts: Result<Vec<T>, _> = parts.collect();
        parts.map_err(|error| Error::Mismatch(format!("a node's data: {error}")))
    }

    /// What has come, or comes soon. Why this node is not wanted counts before its
    /// connection's end, which follows.
    fn heard(&self) -> Result<Option<Vec<serde_json::Value>>, Error> {
        // Before the look: what came before the end that is seen here is found there.
        let health = self.health.check();
        match lock(&self.all).recv_timeout(Duration::from_millis(50)) {
            Ok(Ok(all)) => Ok(Some(all)),
            Ok(Err(why)) => Err(Error::Mismatch(why)),
            Err(_) => health.map(|()| None),
        }
    }

    /// Waits until all nodes have come here.
    ///
    /// # Errors
    /// As [`Rendezvous::exchange`].
    pub fn barrier(&self) -> Result<(), Error> {
        self.exchange(&()).map(drop)
    }

    /// Says that a node is gone, so that every node knows.
    pub(crate) fn report(&self, node: u16, reason: Reason) {
        self.health.report(node, reason);
        // Without a connection the others find out by themselves.
        let _ = send(&mut *lock(&self.server), &ToServer::Lost { node, reason });
    }
}

impl Drop for Rendezvous {
    fn drop(&mut self) {
        let server = lock(&self.server);
        let _ = send(&mut &*server, &ToServer::Bye);
        let _ = server.shutdown(std::net::Shutdown::Write);
    }
}

/// How a connection ended: a read has a time limit.
fn end_by(error: &io::Error) -> Reason {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Reason::Silent,
        _ => Reason::Ended,
    }
}

/// What comes from the server, until the connection ends.
fn listen(
    mut from: BufReader<TcpStream>,
    health: &Health,
    tell: &Sender<Result<Vec<serde_json::Value>, String>>,
) {
    let reason = loop {
        match receive(&mut from) {
            Ok(Some(FromServer::All { data })) => drop(tell.send(Ok(data))),
            Ok(Some(FromServer::Refused { why })) => drop(tell.send(Err(why))),
            Ok(Some(FromServer::Alive)) => {}
            Ok(Some(FromServer::Lost { node, reason })) => health.report(node, reason),
            Ok(None) => break Reason::Ended,
            Err(error) => break end_by(&error),
        }
    };
    health.report(0, reason);
}

enum Event {
    Came(u16, TcpStream),
    Told(u16, serde_json::Value),
    Lost(u16, Reason),
    Bye,
}

/// Rank 0's other half: collects parts, passes on who is lost.
fn serve(listener: &TcpListener, size: u16, silence: Duration) {
    let (tell, events) = channel();
    let mut members: Vec<Option<TcpStream>> = (0..size).map(|_| None).collect();
    let mut parts: Vec<Option<serde_json::Value>> = vec![None; size.into()];
    let mut left = size;
    let Ok(listener) = listener.try_clone() else {
        return;
    };
    thread::spawn(move || {
        // More than there is room for are told so.
        for stream in listener.incoming().flatten() {
            let tell = tell.clone();
            thread::spawn(move || member(stream, size, silence, &tell));
        }
    });
    let everybody = |members: &[Option<TcpStream>], message: &FromServer| {
        for mut stream in members.iter().flatten() {
            // Its own thread finds its end.
            let _ = send(&mut stream, message);
        }
    };
    let mut lost = None;
    while left > 0 {
        match events.recv_timeout(silence / 8) {
            Ok(Event::Came(rank, mut stream)) => {
                let why = format!("there is a node {rank} already");
                match members.get_mut(usize::from(rank)) {
                    Some(place @ None) => {
                        if let Some((node, reason)) = lost {
                            let _ = send(&mut stream, &FromServer::Lost { node, reason });
                        }
                        *place = Some(stream);
                    }
                    _ => drop(send(&mut stream, &FromServer::Refused { why })),
                }
            }
            Ok(Event::Told(rank, data)) => {
                parts[usize::from(rank)] = Some(data);
                if parts.iter().all(Option::is_some) {
                    let data = parts.iter_mut().filter_map(Option::take).collect();
                    everybody(&members, &FromServer::All { data });
                }
            }
            Ok(Event::Lost(node, reason)) => {
                lost.get_or_insert((node, reason));
                everybody(&members, &FromServer::Lost { node, reason });
            }
            Ok(Event::Bye) => left -= 1,
            Err(_) => everybody(&members, &FromServer::Alive),
        }
    }
}

/// One member's connection at the server.
fn member(stream: TcpStream, size: u16, silence: Duration, tell: &Sender<Event>) {
    let Ok(copy) = stream.try_clone() else { return };
    let _ = stream.set_nodelay(true);
    let _ = stream.set_read_timeout(Some(silence));
    let mut from = BufReader::new(copy);
    let rank = match receive(&mut from) {
        Ok(Some(ToServer::Hello {
            version,
            rank,
            size: its,
        })) => {
            if version != VERSION || its != size || rank >= size {
                let why = format!(
                    "node {rank} of {its} has version {version}; this cluster has {size} nodes and version {VERSION}"
                );
                let _ = send(&mut &stream, &FromServer::Refused { why });
                return;
            }
            rank
        }
        // Whoever that was.
        _ => return,
    };
    let _ = tell.send(Event::Came(rank, stream));
    let reason = loop {
        let event = match receive(&mut from) {
            Ok(Some(ToServer::Tell { data })) => Event::Told(rank, data),
            Ok(Some(ToServer::Lost { node, reason })) => Event::Lost(node, reason),
            Ok(Some(ToServer::Alive | ToServer::Hello { .. })) => continue,
            Ok(Some(ToServer::Bye)) => {
                let _ = tell.send(Event::Bye);
                return;
            }
            Ok(None) => break Reason::Ended,
            Err(error) => break end_by(&error),
        };
        let _ = tell.send(event);
    };
    let _ = tell.send(Event::Lost(rank, reason));
    let _ = tell.send(Event::Bye);
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn free_address() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().to_string()
    }

    fn with<T: Send>(
        size: u16,
        silence: Duration,
        body: impl Fn(Rendezvous) -> T + Sync,
    ) -> Vec<T> {
        let address = free_address();
        thread::scope(|scope| {
            let (address, body) = (&address, &body);
            let nodes: Vec<_> = (0..size)
                .map(|rank| {
                    scope.spawn(move || {
                        body(Rendezvous::join(address, rank, size, PATIENCE, silence).unwrap())
                    })
                })
                .collect();
            nodes.into_iter().map(|node| node.join().unwrap()).collect()
        })
    }

    #[test]
    fn everybody_hears_everybody() {
        let told = with(4, PATIENCE, |it| {
            it.barrier().unwrap();
            let told = it.exchange(&(u32::from(it.rank()) * 10)).unwrap();
            it.barrier().unwrap();
            told
        });
        assert_eq!(told, vec![vec![0, 10, 20, 30]; 4]);
    }

    #[test]
    fn who_vanishes_is_reported_to_all() {
        let errors = with(3, PATIENCE, |it| {
            it.barrier().unwrap();
            if it.rank() == 2 {
                // As a process that is killed.
                lock(&it.server).shutdown(std::net::Shutdown::Both).unwrap();
                return None;
            }
            Some(it.barrier().unwrap_err().to_string())
        });
        for error in errors.iter().take(2) {
            let error = error.as_deref().unwrap();
            assert!(error.contains("node 2 is lost"), "{error}");
        }
    }

    #[test]
    fn another_size_or_rank_is_refused() {
        let address = free_address();
        thread::scope(|scope| {
            let join = |rank, size| {
                let address = &address;
                move || {
                    let it =
                        Rendezvous::join(address, rank, size, Duration::from_secs(2), PATIENCE);
                    it.unwrap().barrier().unwrap_err().to_string()
                }
            };
            let first = scope.spawn(join(0, 2));
            let wrong = scope.spawn(join(1, 3)).join().unwrap();
            assert!(wrong.contains("node 1 of 3"), "{wrong}");
            assert!(first.join().unwrap().contains("wait for the others"));
        });
        let out = Rendezvous::join("127.0.0.1:1", 2, 2, PATIENCE, PATIENCE).unwrap_err();
        assert_eq!(out.to_string(), "the rank is 2, of 0 to 1");
    }
}
