// SPDX-License-Identifier: GPL-2.0

//! KUnit suites, one for each lock.

use kernel::macros::kunit_tests;

#[kunit_tests(handover_ticket)]
mod ticket {
    use crate::linux::new_ticket_lock;
    use kernel::prelude::*;

    #[test]
    fn try_lock() -> Result {
        let lock = KBox::pin_init(new_ticket_lock!(0u32), GFP_KERNEL)?;
        let free = lock.try_lock().map(drop).is_some();
        assert!(free);
        Ok(())
    }
}
