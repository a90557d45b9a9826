// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Plans of locks that are none. Each text is made once more, from what was asked for.

mod locks;
mod plan;
mod refused;
