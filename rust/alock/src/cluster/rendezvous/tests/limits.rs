// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What goes wrong ends in bounded time, and says so.

use super::*;

fn hello(address: &str, rank: u16, size: u16) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let version = VERSION;
    let hello = ToServer::Hello {
        version,
        rank,
        size,
    };
    send(&mut stream, &hello).unwrap();
    stream
}

/// One of three attempts goes as it should. While a host stands still silences grow: where one
/// is longer than it may be the attempt says nothing.
fn one_of_three(attempt: impl Fn() -> Result<(), Error>) {
    let failed: Vec<_> = (0..3).map_while(|_| attempt().err()).collect();
    assert!(failed.len() < 3, "{failed:?}");
}

/// Each join is an event; joins come faster than the beat, for longer than the silence.
/// (The sleep is that pace, and waits for no node: where it is longer, the test asks less.)
#[test]
fn a_beat_comes_however_much_else_happens() {
    one_of_three(|| {
        let address = &free_address();
        let silence = Duration::from_secs(2);
        let joins = 20;
        let first = Rendezvous::join(address, 0, joins, PATIENCE, silence)?;
        let others = (1..joins).map(|rank| {
            thread::sleep(Duration::from_millis(150));
            Rendezvous::join(address, rank, joins, PATIENCE, silence)
        });
        let others = others.collect::<Result<Vec<_>, _>>()?;
        thread::scope(|scope| {
            let others: Vec<_> = others
                .iter()
                .map(|other| scope.spawn(|| other.barrier()))
                .collect();
            first.barrier()?;
            others
                .into_iter()
                .try_for_each(|other| other.join().unwrap())
        })
    });
}

#[test]
fn who_takes_nothing_is_lost_and_the_others_hear_it() {
    one_of_three(who_takes_nothing);
}

/// An error where another was lost than node 2.
fn who_takes_nothing() -> Result<(), Error> {
    let address = &free_address();
    let silence = Duration::from_secs(4);
    let join = |rank| Rendezvous::join(address, rank, 3, PATIENCE, silence);
    let (zero, one) = (join(0)?, join(1)?);
    // It shows that it lives, and reads nothing.
    let mut two = hello(address, 2, 3);
    let data = serde_json::Value::Null;
    send(&mut two, &ToServer::Tell { data }).unwrap();
    let over = &AtomicBool::new(false);
    let lives = move || {
        while !over.load(Ordering::Relaxed) && send(&mut two, &ToServer::Alive).is_ok() {
            thread::sleep(silence / 8);
        }
    };
    let began = Instant::now();
    // More than what sockets keep.
    let long = Some("x".repeat(24 << 20));
    thread::scope(|scope| {
        scope.spawn(lives);
        let others = [&zero, &one].map(|it| {
            let long = &long;
            scope.spawn(move || {
                // What all told comes; the next does not.
                assert_eq!(it.exchange(long)?[2], None);
                Ok::<_, Error>(it.barrier().unwrap_err())
            })
        });
        let heard = others.map(|other| other.join().unwrap());
        over.store(true, Ordering::Relaxed);
        for error in heard {
            match error? {
                Error::Lost { node: 2, why } if why == Reason::Silent.words() => {}
                error => return Err(error),
            }
        }
        let elapsed = began.elapsed();
        assert!(elapsed < 5 * silence, "{elapsed:?}");
        Ok(())
    })
}

/// A rendezvous that reads nothing: a write ends, and a report that waits for it.
#[test]
fn a_rendezvous_that_takes_nothing_ends_a_report() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let silence = Duration::from_secs(2);
    let it = Rendezvous::join(&address, 1, 2, PATIENCE, silence).unwrap();
    let _server = listener.accept().unwrap();
    let began = Instant::now();
    thread::scope(|scope| {
        let telling = scope.spawn(|| it.exchange(&"x".repeat(24 << 20)).unwrap_err());
        it.report(0, Reason::Verb);
        let error = telling.join().unwrap().to_string();
        assert!(error.starts_with("node 0 is lost: "), "{error}");
        it.report(0, Reason::Verb);
    });
    drop(it);
    assert!(began.elapsed() < 6 * silence, "{:?}", began.elapsed());
}

#[test]
fn a_connection_that_nobody_takes_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let brief = Duration::from_secs(2);
    // Until those that wait to be accepted are as many as may.
    let waiting: Vec<_> = (0..10_000)
        .map_while(|_| TcpStream::connect_timeout(&address, brief).ok())
        .collect();
    assert!(waiting.len() < 10_000);
    let began = Instant::now();
    let address = address.to_string();
    let error = Rendezvous::join(&address, 1, 2, Duration::from_secs(1), PATIENCE).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("rendezvous: connect to {address}")
    );
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
}

#[test]
fn too_few_parts_are_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let it = Rendezvous::join(&address, 1, 2, PATIENCE, PATIENCE).unwrap();
    let mut stream = listener.accept().unwrap().0;
    stream.write_all(b"{\"All\":{\"data\":[]}}\n").unwrap();
    let error = it.exchange(&1).unwrap_err().to_string();
    assert_eq!(error, "the nodes do not fit: 0 parts of 2 nodes");
    drop(stream);
}

#[test]
fn each_is_told_its_own() {
    let told = with(3, PATIENCE, |it| {
        let mine: Vec<_> = (0..3).map(|to| (it.rank(), to)).collect();
        let told = it.scatter(&mine).unwrap();
        let few = it.scatter(&mine[..2]).unwrap_err().to_string();
        assert_eq!(few, "the nodes do not fit: 2 parts of 3 nodes");
        it.barrier().unwrap();
        told
    });
    for (me, told) in (0..).zip(told) {
        assert_eq!(told, [(0, me), (1, me), (2, me)]);
    }
}

#[test]
fn too_long_a_line_is_an_error_that_says_so() {
    let causes = with(2, PATIENCE, |it| {
        // On its own: nothing is sent, and the connection is as it was.
        let error = it.exchange(&"x".repeat(LONGEST)).unwrap_err();
        let Error::Rendezvous { what, source } = error else {
            panic!("{error}");
        };
        assert_eq!(what, "tell the others");
        it.barrier().unwrap();
        // All together.
        let all = it.exchange(&"x".repeat(LONGEST / 2)).unwrap_err();
        (source.to_string(), all.to_string())
    });
    for (own, all) in causes {
        assert_eq!(own, "a line of 67108885 bytes, of at most 67108864");
        let start = "the nodes do not fit: what all tell is a line of 671088";
        assert!(all.starts_with(start), "{all}");
    }
}

#[test]
fn an_address_is_free_again_when_all_have_left() {
    let address = &free_address();
    for _ in 0..3 {
        // Rank 0 first: another might find the earlier cluster, which is about to leave.
        let join = |rank| Rendezvous::join(address, rank, 2, PATIENCE, PATIENCE).unwrap();
        let (zero, one) = (join(0), join(1));
        thread::scope(|scope| {
            scope.spawn(|| one.barrier().unwrap());
            zero.barrier().unwrap();
        });
    }
    // And when the others never came.
    for _ in 0..2 {
        drop(Rendezvous::join(address, 0, 2, PATIENCE, PATIENCE).unwrap());
    }
}

/// Waits until it is hung up on.
fn hung_up(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    match stream.read(&mut [0; 1]) {
        Ok(length) => length == 0,
        Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn a_first_line_is_short() {
    let address = &free_address();
    let _zero = Rendezvous::join(address, 0, 2, PATIENCE, PATIENCE).unwrap();
    // Too long, and its end is yet to come.
    let mut long = TcpStream::connect(address).unwrap();
    let began = Instant::now();
    long.write_all(&[b'x'; 300]).unwrap();
    assert!(hung_up(&mut long));
    // Not for its silence.
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
}

#[test]
fn a_first_line_comes_in_time() {
    let address = &free_address();
    let silence = Duration::from_secs(3);
    let _zero = Rendezvous::join(address, 0, 2, PATIENCE, silence).unwrap();
    // A byte at a time, each in time.
    let mut slow = TcpStream::connect(address).unwrap();
    let began = Instant::now();
    while slow.write_all(b" ").is_ok() {
        assert!(began.elapsed() < 5 * silence);
        thread::sleep(silence / 10);
    }
}

/// A node that gave up waiting for the others has left: what comes later is not its. A node that
/// meets then hears that the first is gone.
#[test]
fn who_gave_up_waiting_has_left() {
    let address = &free_address();
    let brief = Duration::from_millis(300);
    let zero = Rendezvous::join(address, 0, 2, PATIENCE, PATIENCE).unwrap();
    let one = Rendezvous::join(address, 1, 2, brief, PATIENCE).unwrap();
    let late = one.exchange(&2).unwrap_err().to_string();
    assert_eq!(late, "rendezvous: wait for the others");
    // Its part was told.
    assert_eq!(zero.exchange(&1).unwrap(), [1, 2]);
    let again = one.exchange(&4).unwrap_err().to_string();
    assert_eq!(again, "rendezvous: meet the others after having left them");
    let error = zero.exchange(&3).unwrap_err().to_string();
    assert!(error.starts_with("node 1 is lost: "), "{error}");
}

#[test]
fn times_that_no_clock_has_are_refused() {
    let address = free_address();
    let most = Duration::from_millis(31_536_000_000);
    for (patience, silence, why) in [
        (
            Duration::MAX,
            PATIENCE,
            "the patience in milliseconds is 18446744073709551615, of 0 to 31536000000",
        ),
        (
            PATIENCE,
            Duration::ZERO,
            "the silence in milliseconds is 0, of 8 to 31536000000",
        ),
        (
            PATIENCE,
            most + Duration::from_millis(1),
            "the silence in milliseconds is 31536000001, of 8 to 31536000000",
        ),
    ] {
        let error = Rendezvous::join(&address, 0, 1, patience, silence).unwrap_err();
        assert_eq!(error.to_string(), why);
    }
    // No server listens there.
    drop(TcpListener::bind(&address).unwrap());
    // The longest is waited for as the others are.
    let alone = Rendezvous::join(&address, 0, 1, most, most).unwrap();
    alone.barrier().unwrap();
}

/// Rank 0 itself does not come through to where it listens: it listens no longer.
#[test]
fn a_rendezvous_that_fails_to_begin_leaves_its_address() {
    let address = free_address();
    let listener = TcpListener::bind(&address).unwrap();
    let given_up = Arc::new(AtomicBool::new(false));
    let its = Arc::clone(&given_up);
    let serves = thread::spawn(move || server::serve(listener, 2, BRIEF, &its));
    given_up.store(true, Ordering::Release);
    serves.join().unwrap();
    let again = again(
        Instant::now() + PATIENCE,
        || TcpListener::bind(&address),
        taken,
    );
    drop(again.unwrap());
}

#[test]
fn who_waits_for_one_who_left_hears_it() {
    let errors = with(3, PATIENCE, |it| {
        it.barrier().unwrap();
        (it.rank() != 2).then(|| it.barrier().unwrap_err().to_string())
    });
    for error in errors.into_iter().flatten() {
        assert!(error.starts_with("node 2 is lost: "), "{error}");
    }
}

/// A node that leaves when it has told its part: the part comes, and the end is no loss.
#[test]
fn who_left_and_is_not_waited_for_is_not_lost() {
    let address = &free_address();
    let zero = Rendezvous::join(address, 0, 2, PATIENCE, PATIENCE).unwrap();
    let mut one = hello(address, 1, 2);
    let data = serde_json::Value::Null;
    send(&mut one, &ToServer::Tell { data }).unwrap();
    zero.barrier().unwrap();
    send(&mut one, &ToServer::Bye).unwrap();
    // The rendezvous hangs up when it has heard that.
    one.set_read_timeout(Some(PATIENCE)).unwrap();
    io::copy(&mut one, &mut io::sink()).unwrap();
    // Node 0 hears of this refusal after all that it was to hear of the end.
    let _second = hello(address, 1, 2);
    let until = Instant::now() + PATIENCE;
    while lock(&zero.refused).is_none() {
        assert!(Instant::now() < until);
        thread::sleep(Duration::from_millis(1));
    }
    zero.health.check().unwrap();
}
