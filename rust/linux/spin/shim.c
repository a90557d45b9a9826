// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the locks cannot reach from Rust in this kernel: preemption, interrupts,
 * per-CPU data and lockdep maps. No decisions here; shim.rs declares it all.
 */
#include <linux/interrupt_rc.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <trace/events/lock.h>
#include <asm/mmiowb.h>

#include "shim.h"

/* Where the two functions lie. A harness that measures them says so itself. */
#ifndef HANDOVER_HOT
#define HANDOVER_FIRST
#define HANDOVER_HOT
#endif

/* On the locks' path: one call each, as _raw_spin_lock and _raw_spin_unlock. */
HANDOVER_HOT HANDOVER_FIRST void handover_preempt_disable(void)
{
	preempt_disable();
}

HANDOVER_HOT void handover_preempt_enable(void)
{
	preempt_enable();
}

/* The same for locks whose owners have interrupts off, in _raw_spin_lock_irq_disable()'s order. */
HANDOVER_HOT void handover_interrupts_disable(void)
{
	local_interrupt_disable();
	preempt_disable();
}

HANDOVER_HOT void handover_interrupts_enable(void)
{
	local_interrupt_enable();
	/* Last: a task that became due meanwhile runs here, with interrupts on. */
	preempt_enable();
}

#ifdef CONFIG_MMIOWB
/* Where a release does not order MMIO, its owner says so: inside of the lock, as do_raw_spin_lock() does. */
HANDOVER_HOT void handover_mmiowb_spin_lock(void)
{
	mmiowb_spin_lock();
}

HANDOVER_HOT void handover_mmiowb_spin_unlock(void)
{
	mmiowb_spin_unlock();
}
#endif

/* Around a wait, as in queued_spin_lock_slowpath(): who listens sees the lock's address and the waiter's stack. */
void handover_contention_begin(const void *lock)
{
	trace_contention_begin((void *)lock, LCB_F_SPIN);
}

void handover_contention_end(const void *lock)
{
	trace_contention_end((void *)lock, 0);
}

#if !defined(CONFIG_X86_64) || !defined(CONFIG_SMP)
const void *handover_per_cpu(const void *variable, unsigned int cpu)
{
	return per_cpu_ptr((const void __percpu __force *)variable, cpu);
}

unsigned int handover_this_cpu(void)
{
	return raw_smp_processor_id();
}
#endif

#ifdef CONFIG_DEBUG_LOCK_ALLOC
void handover_lockdep_init(struct lockdep_map *map, const char *name, struct lock_class_key *key)
{
	/* Not in use: the storage is the caller's, fresh. */
	lockdep_init_map_wait(map, name, key, 0, LD_WAIT_SPIN);
}

void handover_lockdep_acquire(struct lockdep_map *map, bool is_try)
{
	spin_acquire(map, 0, is_try, _RET_IP_);
}

void handover_lockdep_release(struct lockdep_map *map)
{
	spin_release(map, _RET_IP_);
}

#ifdef CONFIG_LOCK_STAT
/* The two halves of LOCK_CONTENDED(). */
void handover_lockdep_contended(struct lockdep_map *map)
{
	lock_contended(map, _RET_IP_);
}

void handover_lockdep_acquired(struct lockdep_map *map)
{
	lock_acquired(map, _RET_IP_);
}
#endif

void handover_lockdep_assert_held(struct lockdep_map *map)
{
	WARN_ON(debug_locks && lock_is_held(map) == LOCK_STATE_NOT_HELD);
}
#endif
