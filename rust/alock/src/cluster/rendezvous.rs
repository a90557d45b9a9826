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
pub const VERSION: u32 = 2;

/// A node's connection to the others.
#[derive(Debug)]
pub struct Rendezvous {
    rank: u16,
    size: u16,
    server: Arc<Mutex<TcpStream>>,
    all: Mutex<Receiver<Result<Vec<serde_json::Value>, String>>>,
    pub(crate) health: Arc<Health>,
    /// Who was refused last, and why: perhaps the one that is waited for.
    refused: Arc<Mutex<Option<String>>>,
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
    /// Who does not fit (another version or size, a rank that is taken) is refused with the
    /// reason; the others wait on for the right one, and name the refused if it does not come.
    ///
    /// # Errors
    /// [`Error::Rendezvous`] where rank 0 cannot listen or is not reached in time. Who is
    /// refused learns it from the first [`Rendezvous::exchange`].
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
        let refused = Arc::new(Mutex::new(None));
        let its = (Arc::clone(&health), Arc::clone(&refused));
        thread::spawn(move || listen(reader, &its.0, &its.1, &tell));
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
            refused,
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
    /// come in time, [`Error::Mismatch`] where a part is not of this type, or this node was
    /// refused.
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
                let mut what = "wait for the others".to_owned();
                if let Some(why) = lock(&self.refused).take() {
                    what += &format!(" (refused: {why})");
                }
                let late = io::ErrorKind::TimedOut;
                return Err(failed(what)(late.into()));
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
    refused: &Mutex<Option<String>>,
    tell: &Sender<Result<Vec<serde_json::Value>, String>>,
) {
    let reason = loop {
        match receive(&mut from) {
            Ok(Some(FromServer::All { data })) => drop(tell.send(Ok(data))),
            Ok(Some(FromServer::Refused { why })) => drop(tell.send(Err(why))),
            Ok(Some(FromServer::Other { why })) => *lock(refused) = Some(why),
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
    Refused(String),
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
        let taken = Arc::new(Mutex::new(vec![false; size.into()]));
        for stream in listener.incoming().flatten() {
            let (taken, tell) = (Arc::clone(&taken), tell.clone());
            thread::spawn(move || member(stream, &taken, silence, &tell));
        }
    });
    let everybody = |members: &[Option<TcpStream>], message: &FromServer| {
        // Rank 0 last: its process may end as soon as it has heard, and this thread with it.
        for mut stream in members.iter().rev().flatten() {
            // Its own thread finds its end.
            let _ = send(&mut stream, message);
        }
    };
    let (mut lost, mut refused) = (None, None);
    while left > 0 {
        match events.recv_timeout(silence / 8) {
            Ok(Event::Came(rank, mut stream)) => {
                if let Some((node, reason)) = lost {
                    let _ = send(&mut stream, &FromServer::Lost { node, reason });
                }
                if let Some(why) = refused.clone() {
                    let _ = send(&mut stream, &FromServer::Other { why });
                }
                // It is the first of its rank.
                members[usize::from(rank)] = Some(stream);
            }
            Ok(Event::Refused(why)) => {
                everybody(&members, &FromServer::Other { why: why.clone() });
                refused = Some(why);
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

/// Whether a node may join; its rank is taken then, for good.
fn admit(version: u32, rank: u16, size: u16, taken: &mut [bool]) -> Result<(), String> {
    if version != VERSION || usize::from(size) != taken.len() || rank >= size {
        return Err(format!(
            "node {rank} of {size} has version {version}; this cluster has {} nodes and version {VERSION}",
            taken.len()
        ));
    }
    // What a second one says must not be taken for the first one's, nor its end.
    if std::mem::replace(&mut taken[usize::from(rank)], true) {
        return Err(format!("there is a node {rank} already"));
    }
    Ok(())
}

/// One member's connection at the server.
fn member(stream: TcpStream, taken: &Mutex<Vec<bool>>, silence: Duration, tell: &Sender<Event>) {
    let Ok(copy) = stream.try_clone() else { return };
    let _ = stream.set_nodelay(true);
    let _ = stream.set_read_timeout(Some(silence));
    let mut from = BufReader::new(copy);
    // Whoever says something else is none of ours.
    let Ok(Some(ToServer::Hello {
        version,
        rank,
        size,
    })) = receive(&mut from)
    else {
        return;
    };
    if let Err(why) = admit(version, rank, size, &mut lock(taken)) {
        let _ = tell.send(Event::Refused(why.clone()));
        let _ = send(&mut &stream, &FromServer::Refused { why });
        return;
    }
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
mod tests;
