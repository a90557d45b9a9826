// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! parking_lot's own tests, on each lock. `adapt.py` writes them to the folder that `HANDOVER_ADAPTED` names.

#![allow(unexpected_cfgs, unused_imports, reason = "they are another crate's")]

macro_rules! adapted {
    ($($module:ident $file:literal;)*) => { $(
        mod $module {
            include!(concat!(env!("HANDOVER_ADAPTED"), "/", $file));
        }
    )* };
}

adapted! {
    ticket "Ticket.rs";
    twa "Twa.rs";
    one_word_twa "OneWordTwa.rs";
    mcs "Mcs.rs";
    clh "Clh.rs";
}
