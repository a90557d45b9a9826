// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locktorture's hook, where the kernel has it. Its symbols are asked for by name: a kernel
 * without qemu/patches, or with torture.ko not loaded, has none.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/module.h>

#include "locktorture.h"

static struct lock_torture_ops offered[HANDOVER_TORTURE_LOCKS];
static unsigned int noffered;
/* A reference to torture.ko each, while locks are offered. */
static typeof(&torture_register_lock) register_lock;
static typeof(&torture_unregister_lock) unregister_lock;

/*
 * Offers a lock to locktorture. ENOENT without the hook; ENOSPC; else what the hook says.
 * Only from the module's init.
 */
int handover_torture_offer(const struct handover_torture_calls *calls)
{
	struct lock_torture_ops *ops = &offered[noffered];
	int error;

	if (noffered == ARRAY_SIZE(offered))
		return -ENOSPC;
	if (!register_lock)
		register_lock = symbol_get(torture_register_lock);
	if (register_lock && !unregister_lock)
		unregister_lock = symbol_get(torture_unregister_lock);
	if (!register_lock || !unregister_lock)
		return -ENOENT;

	*ops = (struct lock_torture_ops) {
		.name = calls->name,
		.owner = THIS_MODULE,
		.writelock = calls->lock,
		.writeunlock = calls->unlock,
		.nested_lock = calls->nested_lock,
		.nested_unlock = calls->nested_unlock,
	};
	error = register_lock(ops);
	if (!error)
		noffered++;
	return error;
}

/*
 * Takes all of them back. Only from the module's exit: locktorture has a reference to this
 * module while it tortures.
 */
void handover_torture_withdraw(void)
{
	while (noffered)
		unregister_lock(&offered[--noffered]);
	if (unregister_lock)
		symbol_put(torture_unregister_lock);
	if (register_lock)
		symbol_put(torture_register_lock);
	register_lock = NULL;
	unregister_lock = NULL;
}
