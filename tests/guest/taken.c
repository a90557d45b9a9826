// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module that has a lock's name at locktorture's hook (qemu/patches) before handover.ko does. It
 * also tells what the hook says to locks that lack a name, an owner or a call, and to a second one.
 */
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/torture.h>

static char *name = "handover_twa";
module_param(name, charp, 0444);
MODULE_PARM_DESC(name, "The name that is taken");

static int no_lock(int tid)
{
	return 0;
}

static void no_unlock(int tid)
{
}

/* One lacks each of four things, one is the whole lock, and one has its name too. */
enum { NAMELESS, OWNERLESS, LOCKLESS, UNLOCKLESS, WHOLE, SECOND, LOCKS };
static struct lock_torture_ops locks[LOCKS];

static int __init taken_init(void)
{
	int errors[LOCKS];

	for (int i = 0; i < LOCKS; i++) {
		locks[i] = (struct lock_torture_ops) {
			.name = i == NAMELESS ? NULL : name,
			.owner = i == OWNERLESS ? NULL : THIS_MODULE,
			.writelock = i == LOCKLESS ? NULL : no_lock,
			.writeunlock = i == UNLOCKLESS ? NULL : no_unlock,
		};
		errors[i] = torture_register_lock(&locks[i]);
		/* Only the whole one stays. */
		if (i != WHOLE && !errors[i])
			torture_unregister_lock(&locks[i]);
	}
	pr_info("taken: %d %d %d %d %d %d\n", errors[NAMELESS], errors[OWNERLESS],
		errors[LOCKLESS], errors[UNLOCKLESS], errors[WHOLE], errors[SECOND]);
	return errors[WHOLE];
}
module_init(taken_init);

static void __exit taken_exit(void)
{
	torture_unregister_lock(&locks[WHOLE]);
}
module_exit(taken_exit);

MODULE_DESCRIPTION("A lock's name, taken at locktorture's hook");
MODULE_LICENSE("GPL");
