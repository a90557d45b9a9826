// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Tries a device: compare-and-swaps, writes and reads of a peer's words, every value
//! checked.
//!
//! ```text
//! nic-try [OPTION...] serve ADDRESS     # 0.0.0.0:7471: waits for one peer
//! nic-try [OPTION...] connect ADDRESS   # the peer, by TCP
//! nic-try [OPTION...] loopback          # both in this process, on one device
//! nic-try [OPTION...] one VERB ADDRESS  # with a peer that serves: cas, read or write,
//!                                       # once, when a line comes; how it ended
//! -d, --device NAME   -x, --gid-index N   --operations N (1000)
//! ```

use nic::{Endpoint, Memory, Nic, Options, QueuePair, Region, RemoteWord, WorkRequest, Writes};
use serde::{de::DeserializeOwned, Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::Ordering::Acquire;
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "usage: nic-try [-d DEVICE] [-x GID-INDEX] [--operations N] serve ADDRESS|connect ADDRESS|loopback|one cas|read|write ADDRESS";

/// What a peer says of itself, as a line of JSON.
#[derive(Serialize, Deserialize)]
struct Hello {
    endpoint: Endpoint,
    words: RemoteWord,
}

fn say<T: Serialize>(stream: &mut BufReader<TcpStream>, value: &T) -> Result<()> {
    let line = serde_json::to_string(value)? + "\n";
    Ok(stream.get_mut().write_all(line.as_bytes())?)
}

fn hear<T: DeserializeOwned>(stream: &mut BufReader<TcpStream>) -> Result<T> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, seen: T, expected: T) -> Result<()> {
    if seen == expected {
        return Ok(());
    }
    Err(format!("{what}: {seen:?}, not {expected:?}").into())
}

/// Connects to the peer at the other end of `stream`; both are connected once it returns.
fn meet(
    nic: &Nic,
    region: &Region,
    stream: TcpStream,
) -> Result<(QueuePair, RemoteWord, BufReader<TcpStream>)> {
    let mut stream = BufReader::new(stream);
    let mut queue = nic.queue_pair()?;
    let endpoint = queue.endpoint().clone();
    let words = region.remote(0);
    say(&mut stream, &Hello { endpoint, words })?;
    let peer: Hello = hear(&mut stream)?;
    queue.connect(&peer.endpoint)?;
    say(&mut stream, &true)?;
    hear::<bool>(&mut stream)?;
    println!("connected: {} to {}", queue.endpoint(), peer.endpoint);
    Ok((queue, peer.words, stream))
}

fn median(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0)
}

/// Runs `one` `operations` times; prints its name, and the median and the mean of its times.
fn timed(what: &str, operations: u64, mut one: impl FnMut(u64) -> Result<()>) -> Result<()> {
    let mut times = Vec::new();
    let began = Instant::now();
    for i in 0..operations {
        let start = Instant::now();
        one(i)?;
        times.push(u64::try_from(start.elapsed().as_nanos())?);
    }
    let mean = began.elapsed().as_nanos() / u128::from(operations.max(1));
    println!(
        "{what}: {} ns (median of {operations}), {mean} ns on average",
        median(times)
    );
    Ok(())
}

/// Word 0 is compared and swapped from 0 to `operations`, word 1 written.
fn exercise(queue: &mut QueuePair, words: RemoteWord, operations: u64) -> Result<()> {
    let (counter, mark) = (words, words.at(8));
    // What comes first is slow: pages, and under emulation the code itself.
    for i in 0..100 {
        queue.post_read(i, words, 2)?;
        queue.wait()?;
    }
    let before = queue.posted();
    timed("compare-and-swap", operations, |i| {
        queue.post_cas(i, counter, i, i + 1)?;
        let done = queue.wait()?;
        expect("compare-and-swap", (done.id, done.values()), (i, &[i][..]))
    })?;
    timed("compare-and-swap that fails", operations, |i| {
        queue.post_cas(i, counter, u64::MAX, 0)?;
        expect(
            "compare-and-swap that fails",
            queue.wait()?.value(),
            operations,
        )
    })?;
    timed("write", operations, |i| {
        queue.post_write(i, mark, !i)?;
        let done = queue.wait()?;
        expect("write", (done.id, done.values()), (i, &[][..]))
    })?;
    timed("read", operations, |i| {
        queue.post_read(i, words, 2)?;
        let expected = [operations, !(operations - 1)];
        expect("read", queue.wait()?.values(), &expected[..])
    })?;
    timed("write and read, one doorbell", operations, |i| {
        let pair = [WorkRequest::write(mark, i + 1), WorkRequest::read(mark, 1)];
        queue.post_list(i, &pair)?;
        let done = queue.wait()?;
        expect(
            "write and read",
            (done.id, done.values()),
            (i, &[i + 1][..]),
        )
    })?;
    timed(
        "compare-and-swap and fenced write, one doorbell",
        operations,
        |i| {
            let pair = [
                WorkRequest::cas(mark, operations, 7),
                WorkRequest::write(mark, operations).fenced(),
            ];
            queue.post_list(i, &pair)?;
            expect("compare-and-swap and fenced write", queue.wait()?.id, i)
        },
    )?;
    println!("work requests: {}", queue.posted() - before);
    expect("work requests", queue.posted() - before, 8 * operations)?;
    expect("operations out", queue.outstanding(), 0)?;
    flush(queue, words)
}

/// A read by the same queue pair: what it has written before is in the memory then, for the CPU.
fn flush(queue: &mut QueuePair, words: RemoteWord) -> Result<()> {
    queue.post_read(0, words, 1)?;
    queue.wait()?;
    Ok(())
}

/// What `exercise` leaves, as the CPU sees it.
fn check(region: &Region, operations: u64) -> Result<()> {
    expect("word 0", region.memory().word(0).load(Acquire), operations)?;
    expect("word 1", region.memory().word(8).load(Acquire), operations)
}

/// Two queue pairs of one device, connected.
fn pair(nic: &Nic) -> Result<(QueuePair, QueuePair)> {
    pair_that_writes(nic, nic.writes()?)
}

/// The first of them writes as `writes` says.
fn pair_that_writes(nic: &Nic, writes: Writes) -> Result<(QueuePair, QueuePair)> {
    let (mut a, mut b) = (nic.queue_pair()?, nic.queue_pair()?);
    let peer = b.endpoint().clone();
    a.connect(&Endpoint { writes, ..peer })?;
    b.connect(&a.endpoint().clone())?;
    Ok((a, b))
}

fn loopback(nic: &Nic, operations: u64) -> Result<()> {
    let region = nic.register(Memory::new(4096)?)?;
    let (mut a, _b) = pair(nic)?;
    exercise(&mut a, region.remote(0), operations)?;
    check(&region, operations)?;
    // No other verb reads while it writes, so that a write that tears is right, too.
    let (mut a, _b) = pair_that_writes(nic, Writes::Plain)?;
    for i in 0..operations {
        a.post_list(
            i,
            &[
                WorkRequest::write(region.remote(8), !i),
                WorkRequest::read(region.remote(8), 1),
            ],
        )?;
        expect("plain write", a.wait()?.value(), !i)?;
    }
    Ok(())
}

/// Posts `verb` when a line has come; how it ended.
fn one(queue: &mut QueuePair, words: RemoteWord, verb: &str) -> Result<()> {
    std::io::stdin().read_line(&mut String::new())?;
    match verb {
        "cas" => queue.post_cas(1, words, 0, 1),
        "read" => queue.post_read(1, words, 1),
        "write" => queue.post_write(1, words, 1),
        _ => return Err(USAGE.into()),
    }?;
    println!("posted");
    match queue.wait() {
        Ok(_) => println!("{verb}: answered"),
        Err(error) => println!("{verb}: {error}"),
    }
    Ok(())
}

fn run() -> Result<()> {
    let mut options = Options::default();
    let mut operations = 1000;
    let mut rest = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(USAGE);
        match &arg[..] {
            "-d" | "--device" => options.device = Some(value()?),
            "-x" | "--gid-index" => options.gid_index = Some(value()?.parse()?),
            "--operations" => operations = value()?.parse()?,
            _ => rest.push(arg),
        }
    }
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    let nic = Nic::open(&options)?;
    println!("{nic:?}: writes are {:?}", nic.writes()?);
    match rest[..] {
        ["loopback"] => loopback(&nic, operations)?,
        ["serve", address] => {
            let listener = TcpListener::bind(address)?;
            println!("listening at {}", listener.local_addr()?);
            let region = nic.register(Memory::new(4096)?)?;
            let (_queue, _, mut stream) = meet(&nic, &region, listener.accept()?.0)?;
            let operations = hear(&mut stream)?;
            let checked = check(&region, operations);
            say(&mut stream, &checked.is_ok())?;
            checked?;
        }
        ["connect", address] => {
            let region = nic.register(Memory::new(4096)?)?;
            let (mut queue, words, mut stream) = meet(&nic, &region, TcpStream::connect(address)?)?;
            exercise(&mut queue, words, operations)?;
            say(&mut stream, &operations)?;
            expect(
                "what the peer's CPU sees is right",
                hear(&mut stream)?,
                true,
            )?;
        }
        ["one", verb, address] => {
            let region = nic.register(Memory::new(4096)?)?;
            let (mut queue, words, _stream) = meet(&nic, &region, TcpStream::connect(address)?)?;
            return one(&mut queue, words, verb);
        }
        _ => return Err(USAGE.into()),
    }
    println!("every value was right");
    Ok(())
}

fn main() -> std::process::ExitCode {
    let Err(error) = run() else {
        return std::process::ExitCode::SUCCESS;
    };
    eprint!("nic-try: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        eprint!(": {error}");
        cause = error.source();
    }
    eprintln!();
    std::process::ExitCode::FAILURE
}
