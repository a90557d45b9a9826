// SPDX-License-Identifier: GPL-2.0-only

#include <trace/events/lock.h>

__rust_helper void rust_helper_trace_contention_begin(const void *lock)
{
	trace_contention_begin((void *)lock, LCB_F_SPIN);
}

__rust_helper void rust_helper_trace_contention_end(const void *lock)
{
	trace_contention_end((void *)lock, 0);
}
