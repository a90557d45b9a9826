/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/* Stands in for what glibc's configure writes: the tests that include it take nothing from it. */
