// SPDX-License-Identifier: GPL-2.0-only

#include <linux/irqflags.h>
#include <linux/preempt.h>

__rust_helper void rust_helper_preempt_disable(void)
{
	preempt_disable();
}

__rust_helper void rust_helper_preempt_enable(void)
{
	preempt_enable();
}

__rust_helper bool rust_helper_irqs_disabled(void)
{
	return irqs_disabled();
}
