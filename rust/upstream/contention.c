// SPDX-License-Identifier: GPL-2.0-only

#include <trace/events/lock.h>

__rust_helper void rust_helper_trace_contention_begin(void *lock)
{
	trace_contention_begin(lock, LCB_F_SPIN);
}

__rust_helper void rust_helper_trace_contention_end(void *lock)
{
	trace_contention_end(lock, 0);
}
