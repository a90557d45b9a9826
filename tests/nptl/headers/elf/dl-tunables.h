/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/* Stands in for glibc's own header: tst-mutex8 asks whether locks are elided, which they are not by default. */
#define TUNABLE_GET_FULL(...) 0
