// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A lock that does not work: the negative control of the simulation's Table 1.

use alock::access::{Access, Polled};
use alock::ptr::{Cohort, LockPtr, Ptr};
use alock::remote::Verbs;
use alock_sim::{Card, Cpu, Lost};

fn token() -> u64 {
    u64::from(Ptr::TAG)
}

/// A spinlock on one word. A local thread takes it by CPU, a remote thread by verbs.
pub(crate) async fn lock(
    cpu: &Cpu,
    card: &Card,
    lock: LockPtr,
    cohort: Cohort,
    _who: u64,
) -> Result<(), Lost> {
    let word = lock.tail(Cohort::Local);
    let mut turn = 0;
    loop {
        let got = match cohort {
            Cohort::Local => cpu.swap_if_null(word, token()).await? == Ptr::NULL,
            Cohort::Remote => card.cas(word, Ptr::NULL, token()).await? == Ptr::NULL,
        };
        if got {
            return Ok(());
        }
        cpu.wait(Polled::Lock, turn).await?;
        turn += 1;
    }
}

pub(crate) async fn unlock(
    cpu: &Cpu,
    card: &Card,
    lock: LockPtr,
    cohort: Cohort,
) -> Result<(), Lost> {
    let word = lock.tail(Cohort::Local);
    match cohort {
        Cohort::Local => cpu.clear(word, token()).await.map(drop),
        Cohort::Remote => card.write(word, Ptr::NULL).await,
    }
}
