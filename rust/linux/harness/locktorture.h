/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HANDOVER_HARNESS_LOCKTORTURE_H
#define HANDOVER_HARNESS_LOCKTORTURE_H

#include <linux/list.h>
#include <linux/types.h>

struct module;
struct torture_random_state;

/*
 * A lock type of locktorture. The struct is that of qemu/patches, word for word, which
 * tests/engine/test_patches.py compares. A kernel without the patches has its own, in
 * locktorture.c alone.
 */
struct lock_torture_ops {
	void (*init)(void);
	void (*exit)(void);
	int (*nested_lock)(int tid, u32 lockset);
	int (*writelock)(int tid);
	void (*write_delay)(struct torture_random_state *trsp);
	void (*task_boost)(struct torture_random_state *trsp);
	void (*writeunlock)(int tid);
	void (*nested_unlock)(int tid, u32 lockset);
	int (*readlock)(int tid);
	void (*read_delay)(struct torture_random_state *trsp);
	void (*readunlock)(int tid);

	unsigned long flags; /* for irq spinlocks */
	const char *name;

	struct module *owner; /* of a type that is registered */
	struct list_head list;
};

int torture_register_lock(struct lock_torture_ops *ops);
void torture_unregister_lock(struct lock_torture_ops *ops);

/* What locktorture calls of a lock here. */
struct handover_torture_calls {
	const char *name;
	int (*lock)(int tid);
	void (*unlock)(int tid);
	int (*nested_lock)(int tid, u32 lockset);
	void (*nested_unlock)(int tid, u32 lockset);
};

/* The most locks that can be offered. */
#define HANDOVER_TORTURE_LOCKS 16

int handover_torture_offer(const struct handover_torture_calls *calls);
void handover_torture_withdraw(void);

#endif
