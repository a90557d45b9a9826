// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What is written to the standard error, without an allocation: a mutex may be in use by the allocator.

use core::fmt::{self, Write};

/// One line, cut off where it is too long.
pub(crate) struct Line {
    bytes: [u8; 1024],
    length: usize,
}

impl Line {
    pub(crate) const fn new() -> Self {
        Self {
            bytes: [0; 1024],
            length: 0,
        }
    }

    /// Writes the line, and its end, by one call.
    pub(crate) fn say(mut self) {
        let end = self.length.min(self.bytes.len() - 1);
        self.bytes[end] = b'\n';
        // SAFETY: The bytes are there. Who closed the standard error is told nothing.
        unsafe { libc::write(2, self.bytes.as_ptr().cast(), end + 1) };
    }
}

impl Write for Line {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let room = &mut self.bytes[self.length..];
        let fits = more.len().min(room.len());
        room[..fits].copy_from_slice(&more.as_bytes()[..fits]);
        self.length += fits;
        Ok(())
    }
}

/// Says why, and ends the process with 127, as a shell that cannot start a program.
pub(crate) fn end(why: fmt::Arguments<'_>) -> ! {
    let mut line = Line::new();
    let _ = write!(line, "handover: {why}");
    line.say();
    // SAFETY: It has no condition. Nothing of the program runs.
    unsafe { libc::_exit(127) }
}
