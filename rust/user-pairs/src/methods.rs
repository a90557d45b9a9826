// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The locks: ours, and others.

use handover_user::{Free, Home, Park, Process, RawLock};

use crate::pthread;

/// A lock around a section.
pub(crate) trait Method: Send + Sync + 'static {
    /// One that is free.
    fn new() -> Self;

    /// Runs the section as the owner.
    fn with(&self, section: impl FnOnce());
}

/// One of ours, without an adapter.
pub(crate) struct Raw<L>(L);

impl<L: RawLock<Process<Park>> + Free + Send + Sync + 'static> Method for Raw<L> {
    fn new() -> Self {
        Self(L::FREE)
    }

    #[inline(always)]
    fn with(&self, section: impl FnOnce()) {
        // SAFETY: The token goes back once.
        let world = unsafe { Park::process() };
        let token = self.0.lock(world);
        section();
        self.0.unlock(world, token);
    }
}

impl<R: lock_api::RawMutex + Send + Sync + 'static> Method for lock_api::Mutex<R, ()> {
    fn new() -> Self {
        lock_api::Mutex::new(())
    }

    #[inline(always)]
    fn with(&self, section: impl FnOnce()) {
        let _guard = self.lock();
        section();
    }
}

macro_rules! others {
    ($($mutex:ty),*) => { $(
        impl Method for $mutex {
            fn new() -> Self {
                <$mutex>::new(())
            }

            #[inline(always)]
            fn with(&self, section: impl FnOnce()) {
                let _guard = self.lock();
                section();
            }
        }
    )* };
}

others!(
    std::sync::Mutex<()>,
    spin::mutex::SpinMutex<()>,
    spin::mutex::TicketMutex<()>
);

impl Method for pthread::Mutex {
    fn new() -> Self {
        Self::new()
    }

    #[inline(always)]
    fn with(&self, section: impl FnOnce()) {
        self.with(section);
    }
}

/// Calls `$each!(NAME, TYPE)` with each mutex: those of others, and our adapters for lock_api.
macro_rules! for_each_mutex {
    ($each:ident) => {
        $each!("std", std::sync::Mutex<()>);
        $each!("parking_lot", parking_lot::Mutex<()>);
        $each!("glibc", $crate::pthread::Mutex);
        $each!("spin", spin::mutex::SpinMutex<()>);
        $each!("spin's ticket lock", spin::mutex::TicketMutex<()>);
        $each!("TicketMutex", handover_lock_api::TicketMutex<()>);
        $each!("TwaMutex", handover_lock_api::TwaMutex<()>);
        $each!("OneWordTwaMutex", handover_lock_api::OneWordTwaMutex<()>);
        $each!("McsMutex", handover_lock_api::McsMutex<()>);
        $each!("ClhMutex", handover_lock_api::ClhMutex<()>);
    };
}
pub(crate) use for_each_mutex;

/// The same with each of them, and with our locks without an adapter.
macro_rules! for_each_method {
    ($each:ident) => {
        $crate::methods::for_each_mutex!($each);
        $each!(
            "ticket",
            $crate::methods::Raw<handover_user::Ticket<handover_user::Park>>
        );
        $each!(
            "twa",
            $crate::methods::Raw<handover_user::Twa<handover_user::Park>>
        );
        $each!(
            "one-word-twa",
            $crate::methods::Raw<handover_user::OneWordTwa<handover_user::Park>>
        );
        $each!(
            "mcs",
            $crate::methods::Raw<handover_user::Mcs<handover_user::Park>>
        );
        $each!(
            "clh",
            $crate::methods::Raw<handover_user::Clh<handover_user::Park>>
        );
    };
}
pub(crate) use for_each_method;

/// What the others are compared with.
pub(crate) const BASE: &str = "std";
