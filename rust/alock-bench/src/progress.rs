// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! How far a run is.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use crate::point::{Found, Point};

/// A line that is rewritten, on a terminal. Elsewhere a line at most so often, and at the
/// first run's end and the last's.
const EVERY: Duration = Duration::from_secs(2);

pub(crate) struct Progress {
    of: usize,
    began: Instant,
    rewrite: bool,
    last: Option<Duration>,
}

/// Whether the output shows a rewritten line. A serial line, as a guest's, is a terminal
/// too, but has no width.
fn has_width() -> bool {
    // SAFETY: zeroes are such a size.
    let mut size: libc::winsize = unsafe { std::mem::zeroed() };
    // SAFETY: it lives through the call.
    let rc = unsafe { libc::ioctl(libc::STDERR_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    rc == 0 && size.ws_col > 0
}

impl Progress {
    pub(crate) fn new(of: usize) -> Self {
        Self {
            of,
            began: Instant::now(),
            rewrite: std::io::stderr().is_terminal() && has_width(),
            last: None,
        }
    }

    /// Run `number`, from 1, is over.
    pub(crate) fn show(&mut self, number: usize, point: &Point, found: &Found) {
        let Some(line) = self.line(number, self.began.elapsed(), point, found.throughput()) else {
            return;
        };
        let mut to = std::io::stderr().lock();
        // What cannot be shown is not missed.
        let _ = if self.rewrite {
            // Cut off at the terminal's edge: a line of two could not be rewritten.
            let end = if number == self.of { "\n" } else { "" };
            write!(to, "\r\x1b[K\x1b[?7l{line}\x1b[?7h{end}")
        } else {
            writeln!(to, "{line}")
        };
    }

    fn line(
        &mut self,
        number: usize,
        elapsed: Duration,
        point: &Point,
        throughput: f64,
    ) -> Option<String> {
        let ends = number == self.of || self.last.is_none();
        if !self.rewrite && !ends && self.last.is_some_and(|last| elapsed - last < EVERY) {
            return None;
        }
        self.last = Some(elapsed);
        let left = elapsed.mul_f64((self.of - number) as f64 / number as f64);
        Some(format!(
            "alock-bench: {number} of {}: {}, {} threads, {} locks, {} %: {throughput:.0}/s; {} gone, about {} left",
            self.of,
            point.lock.name(),
            point.threads,
            point.locks,
            point.locality,
            clock(elapsed),
            clock(left),
        ))
    }
}

impl Drop for Progress {
    /// What comes next, an error perhaps, has a line of its own.
    fn drop(&mut self) {
        if self.rewrite && self.last.is_some() {
            eprint!("\r\x1b[K");
        }
    }
}

fn clock(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::point;
    use crate::point::Lock;

    #[test]
    fn a_line_at_the_first_runs_end_and_then_every_two_seconds() {
        let mut it = Progress {
            of: 10,
            began: Instant::now(),
            rewrite: false,
            last: None,
        };
        let point = point(Lock::RdmaSpin, 2, 2, 20, 85);
        let mut line = |number, ms| it.line(number, Duration::from_millis(ms), &point, 99.5);
        assert_eq!(
            line(1, 400).unwrap(),
            "alock-bench: 1 of 10: rdma_spin, 2 threads, 20 locks, 85 %: 100/s; 0:00 gone, about 0:04 left"
        );
        assert_eq!(line(2, 1000), None);
        assert_eq!(line(3, 2399), None);
        assert!(line(4, 2400).is_some());
        assert_eq!(line(5, 2500), None);
        assert!(line(10, 2600)
            .unwrap()
            .ends_with("0:03 gone, about 0:00 left"));
        it.rewrite = true;
        assert!(it
            .line(3, Duration::from_millis(2601), &point, 1.0)
            .is_some());
        it.rewrite = false;
    }

    #[test]
    fn times_are_read_at_a_glance() {
        for (seconds, text) in [
            (0, "0:00"),
            (61, "1:01"),
            (3599, "59:59"),
            (3661, "1:01:01"),
        ] {
            assert_eq!(clock(Duration::from_secs(seconds)), text);
        }
    }
}
