// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

use super::*;
use std::io::Read;

mod limits;

const PATIENCE: Duration = Duration::from_secs(20);

/// The patience that runs out in a test: as short as what comes before on a busy machine allows.
const BRIEF: Duration = Duration::from_secs(5);

fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

fn with<T: Send>(size: u16, silence: Duration, body: impl Fn(Rendezvous) -> T + Sync) -> Vec<T> {
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

/// Patience is for a node that never came: work between two barriers may take longer.
#[test]
fn whoever_is_alive_is_waited_for() {
    let (address, patience) = (free_address(), BRIEF);
    thread::scope(|scope| {
        for rank in 0..2 {
            let address = &address;
            scope.spawn(move || {
                let it = Rendezvous::join(address, rank, 2, patience, PATIENCE).unwrap();
                it.barrier().unwrap();
                if rank == 1 {
                    // The work. The other one waits meanwhile.
                    thread::sleep(patience + patience / 4);
                }
                it.barrier().unwrap();
            });
        }
    });
}

#[test]
fn another_size_or_rank_is_refused() {
    let address = free_address();
    thread::scope(|scope| {
        let join = |rank, size| {
            let address = &address;
            move || {
                let it = Rendezvous::join(address, rank, size, BRIEF, PATIENCE);
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

/// A peer that says so, and what it hears until it is hung up on.
fn stranger(address: &str, says: &[u8]) -> String {
    let mut stream = loop {
        match TcpStream::connect(address) {
            Ok(stream) => break stream,
            Err(_) => thread::yield_now(),
        }
    };
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(says).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut heard = String::new();
    // A peer that is hung up on with something unread hears of a reset instead.
    match stream.read_to_string(&mut heard) {
        Err(error) if error.kind() != io::ErrorKind::ConnectionReset => panic!("{error}"),
        _ => heard,
    }
}

#[test]
fn another_version_is_told_and_so_are_the_others() {
    let address = free_address();
    let first = Rendezvous::join(&address, 0, 2, BRIEF, PATIENCE).expect("rank 0 joins");
    let mut hello = Vec::new();
    let version = VERSION + 1;
    let (rank, size) = (1, 2);
    send(
        &mut hello,
        &ToServer::Hello {
            version,
            rank,
            size,
        },
    )
    .unwrap();
    let why = format!(
        "node 1 of 2 has version {version}; this cluster has 2 nodes and version {VERSION}"
    );
    let heard = stranger(&address, &hello);
    assert_eq!(heard, format!("{{\"Refused\":{{\"why\":\"{why}\"}}}}\n"));
    let error = first.barrier().unwrap_err().to_string();
    assert_eq!(
        error,
        format!("rendezvous: wait for the others (refused: {why})")
    );
}

#[test]
fn a_second_of_one_rank_changes_nothing() {
    let address = &free_address();
    let join = |rank| Rendezvous::join(address, rank, 2, PATIENCE, PATIENCE).unwrap();
    let (zero, one) = (join(0), join(1));
    let both = |value: [u32; 2]| {
        thread::scope(|scope| {
            let other = scope.spawn(|| one.exchange(&value[1]).unwrap());
            assert_eq!(zero.exchange(&value[0]).unwrap(), value);
            assert_eq!(other.join().unwrap(), value);
        });
    };
    both([1, 2]);
    for dies in [true, false, false] {
        let second = join(1);
        let error = second.exchange(&77).unwrap_err().to_string();
        assert_eq!(error, "the nodes do not fit: there is a node 1 already");
        if dies {
            let _ = lock(&second.server).shutdown(std::net::Shutdown::Both);
        }
    }
    // Neither their words nor their ends are the first one's.
    both([3, 4]);
    both([5, 6]);
}

#[test]
fn strangers_are_hung_up_on_and_the_others_meet() {
    let address = &free_address();
    let join = |rank| Rendezvous::join(address, rank, 2, PATIENCE, PATIENCE).unwrap();
    let zero = join(0);
    for says in [
        &b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"[..],
        b"\0\xff\xfe\n",
        b"{\"Tell\":{\"data\":1}}\n",
        b"no line's end",
        b"",
    ] {
        assert_eq!(stranger(address, says), "");
    }
    let one = join(1);
    thread::scope(|scope| {
        scope.spawn(|| one.barrier().unwrap());
        zero.barrier().unwrap();
    });
    for node in [zero, one] {
        node.health.check().unwrap();
    }
}

#[test]
fn a_node_that_goes_mad_is_lost() {
    let address = &free_address();
    let first = Rendezvous::join(address, 0, 2, PATIENCE, PATIENCE).unwrap();
    let mut says = Vec::new();
    let hello = ToServer::Hello {
        version: VERSION,
        rank: 1,
        size: 2,
    };
    send(&mut says, &hello).unwrap();
    says.extend_from_slice(b"{\"Tell\":\n");
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&says).unwrap();
    let error = first.barrier().unwrap_err().to_string();
    assert!(error.starts_with("node 1 is lost: "), "{error}");
}

#[test]
fn a_rendezvous_that_is_something_else_is_an_error() {
    for (says, silence, why) in [
        (
            &b"220 mail\r\n"[..],
            PATIENCE,
            "its connection to the rendezvous ended",
        ),
        (b"", Duration::from_secs(1), "it was silent for too long"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        thread::scope(|scope| {
            let join = move || {
                let it = Rendezvous::join(&address, 1, 2, PATIENCE, silence).unwrap();
                it.barrier().unwrap_err().to_string()
            };
            let node = scope.spawn(join);
            let mut stream = listener.accept().unwrap().0;
            stream.write_all(says).unwrap();
            let error = node.join().unwrap();
            assert!(error.contains(why), "{error}");
            assert!(error.starts_with("node 0 is lost: "), "{error}");
        });
    }
}
