// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Which nodes are there. Every node has a TCP connection to the node of rank 0. Over it they
//! exchange addresses, wait for each other, and show that they are alive.

use std::io::{self, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::Serialize;

use super::messages::{
    end_by, late, line, lock, receive, send, FromServer, ToServer, LONGEST, VERSION,
};
use super::server;
use super::{Error, Health, Reason};

/// A node's connection to the others.
///
/// When it is dropped the node has left. It must not leave while other nodes still use its locks.
/// They are not told, and its memory goes with it. A last [`Rendezvous::barrier`] makes sure of
/// that. A node that waits in an [`Rendezvous::exchange`] for one that has left hears that it is
/// lost. All nodes hear it then.
///
/// The rendezvous itself is in the process of rank 0. Where that process ends, the others find node
/// 0 lost.
///
/// # Examples
/// ```no_run
/// # use std::time::Duration;
/// use alock::cluster::{Error, Rendezvous};
///
/// # fn run(rank: u16) -> Result<(), Error> {
/// let (patience, silence) = (Duration::from_secs(60), Duration::from_secs(10));
/// // Rank 0 listens there, and rank 1 connects to it.
/// let rendezvous = Rendezvous::join("node0:18550", rank, 2, patience, silence)?;
/// let ranks = rendezvous.exchange(&rendezvous.rank())?;
/// assert_eq!(ranks, [0, 1]);
/// rendezvous.barrier()
/// # }
/// ```
#[derive(Debug)]
pub struct Rendezvous {
    rank: u16,
    size: u16,
    server: Arc<Mutex<TcpStream>>,
    all: Mutex<Receiver<Result<Vec<serde_json::Value>, String>>>,
    pub(crate) health: Arc<Health>,
    /// Which node was refused last, and why. It may be the node that is waited for.
    refused: Arc<Mutex<Option<String>>>,
    patience: Duration,
    /// Whether all have met once. From then on a missing node is heard of, or lost.
    met: AtomicBool,
    /// Whether this node has given up waiting for the others, and left.
    left: AtomicBool,
}

/// What is added to the present moment and to others' (a year).
const LONGEST_TIME: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Whether a time is one that can be waited for; it is no less than `least` milliseconds.
fn in_range(what: &'static str, time: Duration, least: u64) -> Result<(), Error> {
    if time >= Duration::from_millis(least) && time <= LONGEST_TIME {
        return Ok(());
    }
    Err(Error::OutOfRange {
        what,
        is: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
        least,
        most: LONGEST_TIME.as_millis() as u64,
    })
}

fn failed(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
    let what = what.into();
    move |source| Error::Rendezvous { what, source }
}

impl Rendezvous {
    /// Joins the cluster of `size` nodes as number `rank`. Rank 0 listens at `address`, HOST:PORT,
    /// and the others connect to it. Each waits `patience` for that, and as long in the first
    /// [`Rendezvous::exchange`] or barrier for the others to come. Later ones wait for as long as
    /// all are alive, however long the work before them takes. A node that is silent for `silence`
    /// counts as lost. So does a node that takes nothing of what is sent to it for as long.
    ///
    /// Rank 0 listens until all that came have left. It tries an address that is still taken again
    /// for `silence`, as an earlier cluster may be leaving it. Where an address is used again, the
    /// others are to join after rank 0. They might find the earlier cluster.
    ///
    /// To look up a name takes as long as the system's resolver does. All else is bounded.
    ///
    /// A node of another version or size, or of a rank that is taken, is refused with the reason.
    /// The others wait on for the right node, and name the refused one if it does not come.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a rank that the size does not have. [`Error::OutOfRange`], too,
    /// for times of more than a year, and for a silence of less than 8 ms. [`Error::Rendezvous`]
    /// where rank 0 cannot listen or is not reached in time. A refused node learns it from the
    /// first [`Rendezvous::exchange`].
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
        in_range("the patience in milliseconds", patience, 0)?;
        // It is divided by eight.
        in_range("the silence in milliseconds", silence, 8)?;
        let mut begins = GivesUp(None);
        if rank == 0 {
            let until = Instant::now() + silence.min(patience);
            let listener = again(until, || TcpListener::bind(address), taken)
                .map_err(failed(format!("listen at {address}")))?;
            let given_up = Arc::new(AtomicBool::new(false));
            begins = GivesUp(Some(Arc::clone(&given_up)));
            thread::spawn(move || server::serve(listener, size, silence, &given_up));
        }
        let until = Instant::now() + patience;
        // It may not listen yet.
        let stream = again(until, || connect(address, until), |_| true)
            .map_err(failed(format!("connect to {address}")))?;
        let set_up = || -> io::Result<_> {
            stream.set_nodelay(true)?;
            // Silence is an end.
            stream.set_read_timeout(Some(silence))?;
            stream.set_write_timeout(Some(silence))?;
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
        // From here on it ends when rank 0 leaves.
        begins.0 = None;
        let server = Arc::new(Mutex::new(stream));
        let health = Arc::new(Health::default());
        let (tell, told) = channel();
        let refused = Arc::new(Mutex::new(None));
        let its = (Arc::clone(&health), Arc::clone(&refused));
        thread::spawn(move || listen(reader, &its.0, &its.1, &tell));
        let (its, healths) = (Arc::downgrade(&server), Arc::clone(&health));
        thread::spawn(move || {
            while let Some(server) = its.upgrade() {
                if say(&server, &healths, &ToServer::Alive).is_err() {
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
            met: AtomicBool::new(false),
            left: AtomicBool::new(false),
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

    /// Tells all nodes `mine`, waits until each has told its own, and returns them by rank. All
    /// nodes call it equally often. The first call waits for the others no longer than
    /// [`Rendezvous::join`] was told. Later calls wait for as long as no node is lost.
    ///
    /// # Errors
    /// [`Error::Lost`] when a node is gone, or has left and can never tell its part.
    /// [`Error::Rendezvous`] when a node does not come to the first exchange in time. This node has
    /// left then, and meets no other any more. [`Error::Rendezvous`], too, where `mine` is more
    /// than 64 MiB as JSON: nothing is sent then. [`Error::Mismatch`] where a part is not of this
    /// type, or there are not as many parts as nodes. [`Error::Mismatch`], too, where all parts
    /// together are more than 64 MiB, or this node was refused.
    pub fn exchange<T: Serialize + DeserializeOwned>(&self, mine: &T) -> Result<Vec<T>, Error> {
        let data = serde_json::to_value(mine);
        self.meet(data.map(|data| ToServer::Tell { data }))
    }

    /// Tells each node its own part of `mine`, by rank, and returns what each told this one. All
    /// else is as in [`Rendezvous::exchange`]. One node's parts, and what is told to one, are at
    /// most 64 MiB as JSON.
    ///
    /// # Errors
    /// The errors of [`Rendezvous::exchange`]; [`Error::Mismatch`] where `mine` has not a part for
    /// each node, too.
    pub fn scatter<T: Serialize + DeserializeOwned>(&self, mine: &[T]) -> Result<Vec<T>, Error> {
        self.as_many(mine.len())?;
        let data: Result<_, _> = mine.iter().map(serde_json::to_value).collect();
        self.meet(data.map(|data| ToServer::TellEach { data }))
    }

    fn as_many(&self, parts: usize) -> Result<(), Error> {
        if parts == usize::from(self.size) {
            return Ok(());
        }
        let why = format!("{parts} parts of {} nodes", self.size);
        Err(Error::Mismatch(why))
    }

    fn meet<T: DeserializeOwned>(
        &self,
        message: Result<ToServer, serde_json::Error>,
    ) -> Result<Vec<T>, Error> {
        // Relaxed, both flags: nothing else hangs on them.
        if self.left.load(Ordering::Relaxed) {
            let what = "meet the others after having left them";
            return Err(failed(what)(io::ErrorKind::NotConnected.into()));
        }
        let broken = || failed("tell the others");
        let message = message.map_err(|error| broken()(error.into()))?;
        let line = line(&message).map_err(broken())?;
        let told = say_line(&self.server, &self.health, &line);
        let met = self.met.load(Ordering::Relaxed);
        let until = (!met).then(|| Instant::now() + self.patience);
        let all = loop {
            if let Some(all) = self.heard()? {
                break all;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                // What the others tell later is for the nodes that meet them then.
                self.left.store(true, Ordering::Relaxed);
                self.leave();
                told.map_err(broken())?;
                let mut what = "wait for the others".to_owned();
                if let Some(why) = lock(&self.refused).take() {
                    what += &format!(" (refused: {why})");
                }
                let late = io::ErrorKind::TimedOut;
                return Err(failed(what)(late.into()));
            }
        };
        self.as_many(all.len())?;
        self.met.store(true, Ordering::Relaxed);
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

    /// Waits until all nodes have come here, as [`Rendezvous::exchange`] does.
    ///
    /// # Errors
    /// The errors of [`Rendezvous::exchange`].
    pub fn barrier(&self) -> Result<(), Error> {
        self.exchange(&()).map(drop)
    }

    /// Says that a node is gone, so that every node knows. This node's other threads know at once.
    /// The call may take as long as `silence` where the rendezvous takes nothing. One write that
    /// waits so long, of any thread, ends the connection for all.
    pub(crate) fn report(&self, node: u16, reason: Reason) {
        self.health.report(node, reason);
        // Without a connection the others find out by themselves.
        let lost = ToServer::Lost { node, reason };
        let _ = say(&self.server, &self.health, &lost);
    }
}

impl Rendezvous {
    fn leave(&self) {
        let _ = say(&self.server, &self.health, &ToServer::Bye);
        let _ = lock(&self.server).shutdown(Shutdown::Write);
    }
}

impl Drop for Rendezvous {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Tells the server that its rank 0 will not come, when it is dropped.
struct GivesUp(Option<Arc<AtomicBool>>);

impl Drop for GivesUp {
    fn drop(&mut self) {
        if let Some(given_up) = &self.0 {
            given_up.store(true, Ordering::Release);
        }
    }
}

/// Tries until it succeeds, fails for good, or it is too late.
fn again<T>(
    until: Instant,
    mut what: impl FnMut() -> io::Result<T>,
    passes: impl Fn(&io::Error) -> bool,
) -> io::Result<T> {
    loop {
        match what() {
            Err(error) if passes(&error) && Instant::now() < until => {
                thread::sleep(Duration::from_millis(20));
            }
            done => return done,
        }
    }
}

fn taken(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrInUse
}

/// Connects to the name's first address that answers; each has its share of the time.
fn connect(address: &str, until: Instant) -> io::Result<TcpStream> {
    let all: Vec<_> = address.to_socket_addrs()?.collect();
    let mut last = io::ErrorKind::NotFound.into();
    for (tried, one) in all.iter().enumerate() {
        let left = until.saturating_duration_since(Instant::now());
        let share = left / (all.len() - tried) as u32;
        match TcpStream::connect_timeout(one, share.max(Duration::from_millis(1))) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn say(server: &Mutex<TcpStream>, health: &Health, message: &ToServer) -> io::Result<()> {
    say_line(server, health, &line(message)?)
}

/// Writes a line. A write that waits for too long may leave half of it: the connection's end.
/// The reader tells of any other failure, after what came before it.
fn say_line(server: &Mutex<TcpStream>, health: &Health, line: &[u8]) -> io::Result<()> {
    let mut server = lock(server);
    let said = server.write_all(line);
    if said.as_ref().is_err_and(late) {
        health.report(0, Reason::Silent);
        let _ = server.shutdown(Shutdown::Both);
    }
    said
}

/// What comes from the server, until the connection ends.
fn listen(
    mut from: BufReader<TcpStream>,
    health: &Health,
    refused: &Mutex<Option<String>>,
    tell: &Sender<Result<Vec<serde_json::Value>, String>>,
) {
    let reason = loop {
        match receive(&mut from, LONGEST) {
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

#[cfg(test)]
mod tests;
