// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a figure must be read with, as far as C alone can ask the kernel for it. facts.rs says it.
 */
#include <linux/cpu.h>
#include <linux/cpufreq.h>
#include <linux/cpumask.h>
#include <linux/jump_label.h>
#include <linux/nodemask.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/isolation.h>
#include <linux/sched/smt.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/topology.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <linux/utsname.h>
#ifdef CONFIG_X86
#include <asm/cpufeature.h>
#endif

#include "../spin/shim.h"
#include "shim.h"

/*
 * Whether a kthread that is bound to no CPU may be put on @cpu, as far as the current one tells.
 * Under rcu_read_lock(): a cpuset may take the mask of isolated CPUs away.
 */
static bool may_use(unsigned int cpu)
{
	return cpumask_test_cpu(cpu, current->cpus_ptr) && !cpu_is_isolated(cpu);
}

/* Online CPUs that such a kthread is never on. */
unsigned int handover_isolated_cpus(void)
{
	unsigned int cpu, isolated = 0;

	guard(rcu)();
	for_each_online_cpu(cpu)
		isolated += !may_use(cpu);
	return isolated;
}

const char *handover_release(void)
{
	return init_utsname()->release;
}

bool handover_has_hypervisor(void)
{
#ifdef CONFIG_X86
	return boot_cpu_has(X86_FEATURE_HYPERVISOR);
#else
	return false;
#endif
}

const char *handover_cpu_model(void)
{
#ifdef CONFIG_X86
	return boot_cpu_data.x86_model_id;
#else
	return "";
#endif
}

unsigned int handover_hz(void)
{
	return HZ;
}

/* The preemption model of this moment; with PREEMPT_DYNAMIC root may change it at any time. */
const char *handover_preempt_model(void)
{
	if (preempt_model_rt())
		return "rt";
	if (preempt_model_full())
		return "full";
	if (preempt_model_lazy())
		return "lazy";
	if (preempt_model_voluntary())
		return "voluntary";
	return preempt_model_none() ? "none" : "unknown";
}

/* Whether two online CPUs share a core at this moment. */
bool handover_smt(void)
{
	return sched_smt_active();
}

unsigned int handover_numa_nodes(void)
{
	return num_online_nodes();
}

/* Whether the command line switched mitigations off. */
bool handover_mitigations_off(void)
{
	return cpu_mitigations_off();
}

/* The mitigations that calls and returns in the kernel pay for, by number; NULL after the last. */
const char *handover_mitigation(unsigned int i, bool *on)
{
#ifdef CONFIG_X86
	static const struct {
		const char *name;
		unsigned int feature;
	} known[] = {
		{ "retpoline", X86_FEATURE_RETPOLINE },
		{ "rethunk", X86_FEATURE_RETHUNK },
		{ "ibrs", X86_FEATURE_KERNEL_IBRS },
		{ "pti", X86_FEATURE_PTI },
	};

	if (i < ARRAY_SIZE(known)) {
		*on = boot_cpu_has(known[i].feature);
		return known[i].name;
	}
#endif
	return NULL;
}

#ifdef CONFIG_CPU_FREQ
static const char *governor_of(struct cpufreq_policy *policy)
{
	if (policy->governor)
		return policy->governor->name;
	/* A driver that governs by itself has two policies, which bear governors' names. */
	if (policy->policy == CPUFREQ_POLICY_PERFORMANCE)
		return "performance";
	return policy->policy == CPUFREQ_POLICY_POWERSAVE ? "powersave" : "unknown";
}
#endif

/*
 * The governor of @cpu's frequency into @name of @len bytes, which are zero: it stays empty where no
 * driver changes it. Returns 1; 0 for a CPU that is off line; -ENOENT for one that is none.
 */
int handover_governor(unsigned int cpu, char *name, size_t len)
{
	if (cpu >= nr_cpu_ids)
		return -ENOENT;
	if (!cpu_online(cpu))
		return 0;
#ifdef CONFIG_CPU_FREQ
	struct cpufreq_policy *policy __free(put_cpufreq_policy) = cpufreq_cpu_get(cpu);

	if (policy) {
		/* The name is its governor's, which may go. */
		guard(cpufreq_policy_read)(policy);
		strscpy(name, governor_of(policy), len);
	}
#endif
	return 1;
}

#ifdef CONFIG_TRACEPOINTS
struct events {
	unsigned int nr;
	char *names;
	size_t len;
};

static bool is_listed(const char *names, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = names; (at = strstr(at, name)); at += len) {
		if ((at == names || at[-1] == ',') && (!at[len] || at[len] == ','))
			return true;
	}
	return false;
}

static void count_event(struct tracepoint *tp, void *arg)
{
	struct events *events = arg;

	size_t used = strlen(events->names);

	if (!static_key_enabled(&tp->key) || is_listed(events->names, tp->name))
		return;
	events->nr++;
	/* Whole names only. */
	if (used + strlen(tp->name) + 2 <= events->len)
		snprintf(events->names + used, events->len - used, "%s%s", used ? "," : "", tp->name);
}
#endif

/*
 * How many of the kernel's tracepoints somebody listens to (ftrace, perf, BPF) that @names, a list of
 * @len bytes at most, does not have. As many of their names as there is room for are added to it.
 * Those of modules are not seen.
 */
unsigned int handover_trace_events(char *names, size_t len)
{
#ifdef CONFIG_TRACEPOINTS
	struct events events = { .names = names, .len = len };

	for_each_kernel_tracepoint(count_event, &events);
	return events.nr;
#else
	return 0;
#endif
}

/*
 * The first @len bytes of the code of function @i of those that writers call, into which the function
 * tracer, BPF and kprobes patch. Returns 0; -ENOENT after the last of them; another error where the
 * code does not show who traces. (No list of all that are traced is exported; a tracer of other
 * functions alone is not seen.)
 */
int handover_code(unsigned int i, u8 *code, size_t len)
{
#if defined(CONFIG_X86_64) && defined(CONFIG_DYNAMIC_FTRACE)
	static void *const calls[] = {
		handover_preempt_disable, handover_preempt_enable, handover_cond_resched,
		handover_interrupts_disable, handover_interrupts_enable,
		handover_contention_begin, handover_contention_end,
		handover_stamp,
		handover_raw_spin_lock_irq, handover_raw_spin_unlock_irq,
#ifdef CONFIG_BPF_SYSCALL
		handover_res_spin_lock, handover_res_spin_unlock,
#endif
		/* As shim.rs declares them: elsewhere the kernel's are macros. */
#if (defined(CONFIG_SMP) || defined(CONFIG_DEBUG_SPINLOCK)) && \
	defined(CONFIG_UNINLINE_SPIN_UNLOCK) && !defined(CONFIG_INLINE_SPIN_LOCK)
		_raw_spin_lock, _raw_spin_unlock,
#else
		handover_raw_spin_lock, handover_raw_spin_unlock,
#endif
#ifdef CONFIG_PARAVIRT_SPINLOCKS
		native_queued_spin_lock_slowpath,
#elif defined(CONFIG_QUEUED_SPINLOCKS)
		queued_spin_lock_slowpath,
#endif
	};

	if (i >= ARRAY_SIZE(calls))
		return -ENOENT;
	return copy_from_kernel_nofault(code, calls[i], len);
#elif defined(CONFIG_FUNCTION_TRACER) || defined(CONFIG_KPROBES)
	return -EOPNOTSUPP;
#else
	return -ENOENT;
#endif
}
