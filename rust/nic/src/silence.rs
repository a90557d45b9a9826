// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! How long a queue pair may complete nothing while something is out.

use std::time::{Duration, Instant};

/// A clock is looked at once in so many empty polls: it costs more than one of them.
const POLLS: u32 = 1 << 12;

/// A device bounds every operation by its timeout and retries. One that is taken away, or
/// hangs, bounds nothing: then this does.
#[derive(Debug)]
pub(crate) struct Silence {
    patience: Option<Duration>,
    polls: u32,
    /// The first look at the clock since the last completion.
    since: Option<Instant>,
}

impl Silence {
    /// Longer than a device tries. It may wait four times as long as it was told, for the first
    /// packet and for each retry. The InfiniBand specification allows that (volume 1, 9.7.6.1.3). A
    /// second is added for what is busy here.
    ///
    /// Cards may take a short timeout for a longer one. Some are said to have a least one, of up to
    /// half a second. None has been tested. A timeout shorter than 17, which is 537 ms, therefore
    /// counts as 17 here. `None` for a timeout of 0, which is none.
    pub(crate) fn new(timeout: u8, retries: u8) -> Silence {
        let patience = (timeout > 0).then(|| {
            let once = Duration::from_nanos(4096) * (1 << timeout.clamp(17, 31));
            4 * (u32::from(retries) + 1) * once + Duration::from_secs(1)
        });
        Silence {
            patience,
            polls: 0,
            since: None,
        }
    }

    /// Something completed, or nothing is out.
    #[inline]
    pub(crate) fn broken(&mut self) {
        self.polls = 0;
        self.since = None;
    }

    /// A poll found nothing while something is out: for how long nothing came, once that is
    /// too long.
    #[inline]
    pub(crate) fn after_a_poll(&mut self) -> Option<Duration> {
        self.polls += 1;
        if self.polls < POLLS {
            return None;
        }
        self.polls = 0;
        self.is_over(Instant::now())
    }

    fn is_over(&mut self, now: Instant) -> Option<Duration> {
        let patience = self.patience?;
        let silent = now - *self.since.get_or_insert(now);
        (silent > patience).then_some(silent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_longer_than_a_device_tries() {
        let mut it = Silence::new(18, 1);
        // 1074 ms, four times, twice; and a second.
        let patience = it.patience.unwrap();
        assert_eq!(patience.as_millis(), 9589);
        // A short one is no shorter than some cards have it.
        assert_eq!(Silence::new(1, 1).patience.unwrap().as_millis(), 5294);
        let start = Instant::now();
        assert_eq!(it.is_over(start), None);
        assert_eq!(it.is_over(start + patience), None);
        let later = patience + Duration::from_nanos(1);
        assert_eq!(it.is_over(start + later), Some(later));
        it.broken();
        assert_eq!(it.is_over(start + later), None);
        assert_eq!(it.is_over(start + 2 * later), Some(later));
    }

    #[test]
    fn the_most_patient_is_no_overflow() {
        let it = Silence::new(31, 7);
        assert!(it.patience.unwrap() > Duration::from_secs(4 * 8 * 8796));
    }

    #[test]
    fn without_a_timeout_there_is_no_end() {
        let mut it = Silence::new(0, 6);
        let start = Instant::now();
        assert_eq!(it.is_over(start), None);
        assert_eq!(it.is_over(start + Duration::from_secs(1 << 30)), None);
    }

    #[test]
    fn most_polls_look_at_no_clock() {
        let mut it = Silence::new(12, 1);
        for _ in 1..POLLS {
            it.after_a_poll();
        }
        assert_eq!(it.since, None);
        it.after_a_poll();
        assert!(it.since.is_some());
    }
}
