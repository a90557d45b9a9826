// SPDX-License-Identifier: GPL-2.0-only

#include <asm/mmiowb.h>

#ifdef CONFIG_MMIOWB
__rust_helper void rust_helper_mmiowb_spin_lock(void)
{
	mmiowb_spin_lock();
}

__rust_helper void rust_helper_mmiowb_spin_unlock(void)
{
	mmiowb_spin_unlock();
}
#endif
