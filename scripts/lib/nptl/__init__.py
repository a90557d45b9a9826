# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""glibc's own tests of mutexes and condition variables, under this project's locks: which there are, how they are compiled,
what each ends with under each lock."""
