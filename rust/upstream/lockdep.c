// SPDX-License-Identifier: GPL-2.0-only

#include <linux/lockdep.h>

/*
 * What raw_spin_lock() tells lockdep, of the map of a spinlock in Rust.
 *
 * Not __rust_helper: _RET_IP_ is the place in Rust as long as these are called.
 */
#ifdef CONFIG_DEBUG_LOCK_ALLOC
noinline void rust_helper_spin_map_init(struct lockdep_map *map, const char *name,
					struct lock_class_key *key)
{
	lockdep_init_map_wait(map, name, key, 0, LD_WAIT_SPIN);
}

noinline void rust_helper_spin_map_acquire(struct lockdep_map *map, bool is_try)
{
	spin_acquire(map, 0, is_try, _RET_IP_);
}

noinline void rust_helper_spin_map_release(struct lockdep_map *map)
{
	spin_release(map, _RET_IP_);
}

noinline void rust_helper_spin_map_assert_held(struct lockdep_map *map)
{
	WARN_ON(debug_locks && lock_is_held(map) == LOCK_STATE_NOT_HELD);
}
#endif

#ifdef CONFIG_LOCK_STAT
/* The two halves of LOCK_CONTENDED(). */
noinline void rust_helper_spin_map_contended(struct lockdep_map *map)
{
	lock_contended(map, _RET_IP_);
}

noinline void rust_helper_spin_map_acquired(struct lockdep_map *map)
{
	lock_acquired(map, _RET_IP_);
}
#endif
