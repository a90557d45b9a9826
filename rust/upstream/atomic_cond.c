// SPDX-License-Identifier: GPL-2.0-only

#include <linux/atomic.h>
#include <linux/processor.h>

/* Waits until @v has another value than @old, and returns it. */
__rust_helper int rust_helper_atomic_cond_read_acquire_ne(const atomic_t *v, int old)
{
	return atomic_cond_read_acquire(v, VAL != old);
}
