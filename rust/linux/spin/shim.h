/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HANDOVER_SPIN_SHIM_H
#define HANDOVER_SPIN_SHIM_H

#include <linux/types.h>

struct lock_class_key;
struct lockdep_map;

const void *handover_per_cpu(const void *variable, unsigned int cpu);
unsigned int handover_this_cpu(void);

void handover_preempt_disable(void);
void handover_preempt_enable(void);
void handover_interrupts_disable(void);
void handover_interrupts_enable(void);
void handover_mmiowb_spin_lock(void);
void handover_mmiowb_spin_unlock(void);
void handover_contention_begin(const void *lock);
void handover_contention_end(const void *lock);
void handover_lockdep_init(struct lockdep_map *map, const char *name, struct lock_class_key *key);
void handover_lockdep_acquire(struct lockdep_map *map, bool is_try);
void handover_lockdep_release(struct lockdep_map *map);
void handover_lockdep_contended(struct lockdep_map *map);
void handover_lockdep_acquired(struct lockdep_map *map);
void handover_lockdep_assert_held(struct lockdep_map *map);

#endif
