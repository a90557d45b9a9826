// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Rank 0's other half: it collects parts, and passes on which node is lost.

use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::messages::{
    end_by, late, line, lock, receive, send, FromServer, ToServer, GREETING, LONGEST, VERSION,
};
use super::Reason;

/// What a member told.
#[derive(Clone)]
enum Part {
    All(Value),
    /// A value for each node, by rank.
    Each(Vec<Value>),
}

enum Event {
    Came(u16, TcpStream),
    Refused(String),
    Told(u16, Part),
    /// A member says that another is lost.
    Lost(u16, Reason),
    /// A member left, in order or not.
    Gone(u16, Option<Reason>),
}

/// A line to write, and what is dropped once it is written or never will be.
struct Item(Arc<Vec<u8>>, Gate);

enum Gate {
    Opens(#[expect(dead_code, reason = "held until the line is written")] Sender<()>),
    /// Written when all others of this line are dropped.
    Waits(Receiver<()>),
}

/// Each has a thread that writes: a member that reads nothing keeps no other waiting.
struct Member {
    queue: Sender<Item>,
    stream: TcpStream,
}

struct Server {
    members: Vec<Option<Member>>,
    /// The nodes that have left.
    gone: Vec<bool>,
    parts: Vec<Option<Part>>,
    lost: Option<(u16, Reason)>,
    refused: Option<String>,
    silence: Duration,
    tell: Sender<Event>,
}

/// Serves until all that came have left, or rank 0 has given up to come.
pub(super) fn serve(listener: TcpListener, size: u16, silence: Duration, given_up: &AtomicBool) {
    let (tell, events) = channel();
    let Ok(address) = listener.local_addr() else {
        return;
    };
    let stop = Arc::new(AtomicBool::new(false));
    let (its, to) = (Arc::clone(&stop), tell.clone());
    thread::spawn(move || admit_all(&listener, &its, size, silence, &to));
    let mut server = Server {
        members: (0..size).map(|_| None).collect(),
        gone: vec![false; size.into()],
        parts: vec![None; size.into()],
        lost: None,
        refused: None,
        silence,
        tell,
    };
    // Whatever else there is to do: all hear of it in time that it is alive.
    let mut beat = Instant::now();
    while !given_up.load(Ordering::Acquire)
        && (!server.gone[0] || server.members.iter().any(Option::is_some))
    {
        let now = Instant::now();
        if now >= beat {
            beat = now + silence / 8;
            server.everybody(&FromServer::Alive);
        }
        if let Ok(event) = events.recv_timeout(beat.saturating_duration_since(now)) {
            server.hear(event);
        }
    }
    // Wakes the thread that accepts, so that the address is free again.
    stop.store(true, Ordering::Release);
    let _ = TcpStream::connect_timeout(&address, silence);
}

fn admit_all(
    listener: &TcpListener,
    stop: &AtomicBool,
    size: u16,
    silence: Duration,
    tell: &Sender<Event>,
) {
    let taken = Arc::new(Mutex::new(vec![false; size.into()]));
    for stream in listener.incoming() {
        if stop.load(Ordering::Acquire) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let (taken, tell) = (Arc::clone(&taken), tell.clone());
        thread::spawn(move || member(stream, &taken, silence, &tell));
    }
}

impl Server {
    fn hear(&mut self, event: Event) {
        match event {
            Event::Came(rank, stream) => self.came(rank, stream),
            Event::Refused(why) => {
                self.everybody(&FromServer::Other { why: why.clone() });
                self.refused = Some(why);
            }
            Event::Told(rank, part) => {
                self.parts[usize::from(rank)] = Some(part);
                if self.parts.iter().all(Option::is_some) {
                    self.all();
                }
            }
            Event::Lost(node, reason) => self.lose(node, reason),
            Event::Gone(rank, reason) => {
                self.gone[usize::from(rank)] = true;
                let member = self.members[usize::from(rank)].take();
                if let (Some(member), Some(reason)) = (member, reason) {
                    // Its threads end, too.
                    let _ = member.stream.shutdown(Shutdown::Both);
                    self.lose(rank, reason);
                }
            }
        }
        // A node waits for one that will not come.
        if self.lost.is_none() && self.parts.iter().any(Option::is_some) {
            let mut missing = (0_u16..).zip(self.gone.iter().zip(&self.parts));
            if let Some((node, _)) = missing.find(|(_, (&gone, part))| gone && part.is_none()) {
                self.lose(node, Reason::Ended);
            }
        }
    }

    fn came(&mut self, rank: u16, stream: TcpStream) {
        let Ok(copy) = stream.try_clone() else {
            return self.lose(rank, Reason::Ended);
        };
        let (queue, lines) = channel();
        let (tell, silence) = (self.tell.clone(), self.silence);
        thread::spawn(move || {
            let done = write(copy, &lines, silence / 8);
            // Of any other failure its reader tells, after what came before it.
            if done.is_err_and(|error| late(&error)) {
                let _ = tell.send(Event::Gone(rank, Some(Reason::Silent)));
            }
        });
        let lost = self
            .lost
            .map(|(node, reason)| FromServer::Lost { node, reason });
        let refused = self.refused.clone().map(|why| FromServer::Other { why });
        for message in [lost, refused].into_iter().flatten() {
            if let Ok(line) = line(&message) {
                let _ = queue.send(Item(Arc::new(line), Gate::Opens(channel().0)));
            }
        }
        // It is the first of its rank.
        self.members[usize::from(rank)] = Some(Member { queue, stream });
    }

    fn lose(&mut self, node: u16, reason: Reason) {
        self.lost.get_or_insert((node, reason));
        self.everybody(&FromServer::Lost { node, reason });
    }

    /// All have told their parts.
    fn all(&mut self) {
        let parts: Vec<Part> = self.parts.iter_mut().filter_map(Option::take).collect();
        let of = |rank: usize| {
            let data = parts.iter().map(|part| match part {
                Part::All(data) => data.clone(),
                Part::Each(data) => data[rank].clone(),
            });
            let data = data.collect();
            line(&FromServer::All { data }).map(Arc::new)
        };
        let same = parts.iter().all(|part| matches!(part, Part::All(_)));
        let lines = if same {
            of(0).map(|line| vec![line; parts.len()])
        } else {
            (0..parts.len()).map(of).collect()
        };
        match lines {
            Ok(lines) => self.each(&lines),
            Err(error) => self.everybody(&FromServer::Refused {
                why: format!("what all tell is {error}"),
            }),
        }
    }

    fn everybody(&self, message: &FromServer) {
        if let Ok(line) = line(message).map(Arc::new) {
            self.each(&vec![line; self.members.len()]);
        }
    }

    /// Rank 0 last: its process may end as soon as it has heard, and these threads with it.
    fn each(&self, lines: &[Arc<Vec<u8>>]) {
        let (opens, waits) = channel();
        let mut waits = Some(waits);
        for (member, line) in self.members.iter().zip(lines) {
            let gate = match waits.take() {
                Some(waits) => Gate::Waits(waits),
                None => Gate::Opens(opens.clone()),
            };
            if let Some(member) = member {
                let _ = member.queue.send(Item(Arc::clone(line), gate));
            }
        }
    }
}

/// What goes to one member, until it is gone.
fn write(mut to: TcpStream, lines: &Receiver<Item>, beat: Duration) -> io::Result<()> {
    for Item(line, gate) in lines {
        if let Gate::Waits(others) = &gate {
            while let Err(RecvTimeoutError::Timeout) = others.recv_timeout(beat) {
                send(&mut to, &FromServer::Alive)?;
            }
        }
        to.write_all(&line)?;
    }
    Ok(())
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

/// A connection of which the first line has one time limit, however it trickles in.
struct Greeting {
    stream: TcpStream,
    until: Option<Instant>,
}

impl Read for Greeting {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if let Some(until) = self.until {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.stream.set_read_timeout(Some(left))?;
        }
        self.stream.read(to)
    }
}

/// The node's words about itself, where they come in time and are few.
fn greeted(from: &mut BufReader<Greeting>, silence: Duration) -> Option<(u32, u16, u16)> {
    // A peer that says something else is none of ours.
    let Ok(Some(ToServer::Hello {
        version,
        rank,
        size,
    })) = receive(from, GREETING)
    else {
        return None;
    };
    let its = from.get_mut();
    its.until = None;
    its.stream.set_read_timeout(Some(silence)).ok()?;
    its.stream.set_write_timeout(Some(silence)).ok()?;
    Some((version, rank, size))
}

/// One member's connection at the server.
fn member(stream: TcpStream, taken: &Mutex<Vec<bool>>, silence: Duration, tell: &Sender<Event>) {
    let Ok(copy) = stream.try_clone() else { return };
    let _ = stream.set_nodelay(true);
    let mut from = BufReader::new(Greeting {
        stream: copy,
        until: Some(Instant::now() + silence),
    });
    let Some((version, rank, size)) = greeted(&mut from, silence) else {
        return;
    };
    if let Err(why) = admit(version, rank, size, &mut lock(taken)) {
        let _ = tell.send(Event::Refused(why.clone()));
        let _ = send(&mut &stream, &FromServer::Refused { why });
        return;
    }
    let _ = tell.send(Event::Came(rank, stream));
    let end = loop {
        let event = match receive(&mut from, LONGEST) {
            Ok(Some(ToServer::Tell { data })) => Event::Told(rank, Part::All(data)),
            Ok(Some(ToServer::TellEach { data })) if data.len() == usize::from(size) => {
                Event::Told(rank, Part::Each(data))
            }
            Ok(Some(ToServer::Lost { node, reason })) => Event::Lost(node, reason),
            Ok(Some(ToServer::Alive | ToServer::Hello { .. })) => continue,
            Ok(Some(ToServer::Bye)) => break None,
            Ok(None | Some(ToServer::TellEach { .. })) => break Some(Reason::Ended),
            Err(error) => break Some(end_by(&error)),
        };
        let _ = tell.send(event);
    };
    let _ = tell.send(Event::Gone(rank, end));
}
