// SPDX-License-Identifier: GPL-2.0-only

#include <linux/lockdep.h>

#ifdef CONFIG_DEBUG_LOCK_ALLOC
__rust_helper void rust_helper_spin_init_map(struct lockdep_map *map,
					     const char *name,
					     struct lock_class_key *key)
{
	/* Not in use: the storage is the caller's, fresh. */
	lockdep_init_map_wait(map, name, key, 0, LD_WAIT_SPIN);
}

__rust_helper void rust_helper_spin_acquire(struct lockdep_map *map,
					    bool is_try)
{
	spin_acquire(map, 0, is_try, _RET_IP_);
}

__rust_helper void rust_helper_spin_release(struct lockdep_map *map)
{
	spin_release(map, _RET_IP_);
}

__rust_helper void rust_helper_lockdep_assert_map_held(struct lockdep_map *map)
{
	WARN_ON(debug_locks && lock_is_held(map) == LOCK_STATE_NOT_HELD);
}
#endif

#ifdef CONFIG_LOCK_STAT
/* The two halves of LOCK_CONTENDED(). */
__rust_helper void rust_helper_spin_contended(struct lockdep_map *map)
{
	lock_contended(map, _RET_IP_);
}

__rust_helper void rust_helper_spin_acquired(struct lockdep_map *map)
{
	lock_acquired(map, _RET_IP_);
}
#endif
