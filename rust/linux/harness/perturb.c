// SPDX-License-Identifier: GPL-2.0-only
/*
 * What perturbs writers and can only be done in C: where they may run, how they are
 * scheduled, and CPUs that go off line. No decisions here but which CPU is next.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/processor.h>
#include <linux/sched.h>

#include "shim.h"

unsigned long handover_jiffies(void)
{
	return jiffies;
}

/* Between two sections. */
void handover_set_fifo(bool on, int nice)
{
	if (on)
		sched_set_fifo(current);
	else
		sched_set_normal(current, nice);
}

/* Does not sleep. By the clock: a delay that counts loops is off by far where a hypervisor takes the CPU. */
void handover_hold_ms(unsigned int ms)
{
	u64 until = ktime_get_ns() + (u64)ms * NSEC_PER_MSEC;

	while (ktime_get_ns() < until)
		cpu_relax();
}

bool handover_raw_spin_trylock(raw_spinlock_t *lock)
{
	return raw_spin_trylock(lock);
}

/*
 * Has @task, or the current thread for NULL, run on the CPUs from @first to @last, isolated ones
 * too; for a @first below 0 on those that the current thread may use. It does not run on @but,
 * unless that is below 0 or no other CPU were online. 1: it could run there but for this.
 */
int handover_allow(struct task_struct *task, int first, int last, int but)
{
	cpumask_var_t mask __free(free_cpumask_var) = CPUMASK_VAR_NULL;
	int cpu, error, spared = 0;

	if (!zalloc_cpumask_var(&mask, GFP_KERNEL))
		return -ENOMEM;
	if (first < 0)
		cpumask_copy(mask, current->cpus_ptr);
	for_each_possible_cpu(cpu)
		if (first >= 0 && first <= cpu && cpu <= last)
			cpumask_set_cpu(cpu, mask);
	if (but >= 0 && but < nr_cpu_ids && cpumask_test_and_clear_cpu(but, mask)) {
		spared = cpumask_intersects(mask, cpu_online_mask);
		if (!spared)
			cpumask_set_cpu(but, mask);
	}
	error = set_cpus_allowed_ptr(task ?: current, mask);
	return error ?: spared;
}

/* Whether a CPU from @first to @last is online. */
bool handover_any_online(unsigned int first, unsigned int last)
{
	unsigned int cpu;

	for_each_online_cpu(cpu)
		if (first <= cpu && cpu <= last)
			return true;
	return false;
}

/* The online CPU after @cpu, counted around. */
unsigned int handover_cpu_after(unsigned int cpu)
{
	return cpumask_next_wrap(cpu, cpu_online_mask);
}

/* CPUs that are off line by what follows. */
static struct cpumask taken;
static DEFINE_MUTEX(taken_mutex);

static bool handover_online(unsigned int cpu)
{
#ifdef CONFIG_HOTPLUG_CPU
	int error;

	/*
	 * One that was ejected before has no device to bring back. An eject at this moment is not kept
	 * away: the kernel does not export the lock that would.
	 */
	if (!cpu_is_hotpluggable(cpu)) {
		pr_warn("CPU %u is gone\n", cpu);
		cpumask_clear_cpu(cpu, &taken);
		return true;
	}
	/* 1: somebody else did it. */
	error = add_cpu(cpu);
	if (error < 0) {
		pr_warn("CPU %u does not come back: %d\n", cpu, error);
		return false;
	}
#endif
	cpumask_clear_cpu(cpu, &taken);
	return true;
}

static bool handover_offline(unsigned int cpu)
{
#ifdef CONFIG_HOTPLUG_CPU
	if (!cpu_online(cpu) || !cpu_is_hotpluggable(cpu) || num_online_cpus() == 1)
		return false;
	if (!remove_cpu(cpu)) {
		cpumask_set_cpu(cpu, &taken);
		return true;
	}
#endif
	return false;
}

/*
 * Takes a CPU off line, or brings back one that this took: the first that it can, from the
 * one that is @drawn. 1: took one; 0: brought one back; -1: neither.
 */
int handover_onoff(u32 drawn)
{
	guard(mutex)(&taken_mutex);
	for (unsigned int i = 0; i < nr_cpu_ids; i++) {
		unsigned int cpu = (drawn % nr_cpu_ids + i) % nr_cpu_ids;

		if (cpumask_test_cpu(cpu, &taken)) {
			if (handover_online(cpu))
				return 0;
		} else if (handover_offline(cpu)) {
			return 1;
		}
	}
	return -1;
}

/*
 * Brings back all that it took; tries for a second, for others may forbid it meanwhile. How many
 * stay away: the next experiment may have more luck.
 */
unsigned int handover_onoff_end(void)
{
	unsigned int cpu;

	guard(mutex)(&taken_mutex);
	for_each_cpu(cpu, &taken)
		for (int i = 0; i < 10 && !handover_online(cpu); i++)
			handover_sleep_ms(100);
	return cpumask_weight(&taken);
}
