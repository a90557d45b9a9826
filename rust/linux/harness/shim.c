// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the harness cannot reach from Rust in this kernel: kthreads, string
 * parameters, raw spinlocks, debugfs. No decisions here; shim.rs declares it all.
 * What the machine is asked for its facts is in facts.c.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/kernel_stat.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#ifdef CONFIG_X86
#include <asm/tsc.h>
#endif

#include "shim.h"

/* The parameters: text, read by plan.rs, so that a complaint can name what is allowed. */
static char *torture_type;
module_param(torture_type, charp, 0444);
MODULE_PARM_DESC(torture_type, "Locks: a name, a comma list, or all (debugfs handover/locks lists them)");

static char *nwriters_stress;
module_param(nwriters_stress, charp, 0444);
MODULE_PARM_DESC(nwriters_stress, "Writers: a number or a comma list; -1 for twice the CPUs; sweep (default): 1, 2, 4 and so on up to the CPUs");

static char *cs_steps;
module_param(cs_steps, charp, 0444);
MODULE_PARM_DESC(cs_steps, "Steps of the writer's PRNG in the critical section");

static char *ncs_steps;
module_param(ncs_steps, charp, 0444);
MODULE_PARM_DESC(ncs_steps, "Steps outside it are drawn uniformly from [0, ncs_steps)");

static char *duration;
module_param(duration, charp, 0444);
MODULE_PARM_DESC(duration, "Seconds a run; 0 runs until rmmod or stop");

static char *runs;
module_param(runs, charp, 0444);
MODULE_PARM_DESC(runs, "Runs of each lock and number of writers, interleaved");

static char *stat_interval;
module_param(stat_interval, charp, 0444);
MODULE_PARM_DESC(stat_interval, "Seconds between progress lines; 0 for none");

static char *verbose;
module_param(verbose, charp, 0444);
MODULE_PARM_DESC(verbose, "1 prints a line a run and the table, 0 only the end");

static char *seed;
module_param(seed, charp, 0444);
MODULE_PARM_DESC(seed, "Seed of the writers' PRNGs; 0 draws one and prints it");

static char *checks;
module_param(checks, charp, 0444);
MODULE_PARM_DESC(checks, "owner, counter, order, progress: a comma list, all or none");

static char *stall_secs;
module_param(stall_secs, charp, 0444);
MODULE_PARM_DESC(stall_secs, "Seconds without an acquisition after which a writer has stalled");

static char *long_hold;
module_param(long_hold, charp, 0444);
MODULE_PARM_DESC(long_hold, "Milliseconds that a section takes now and then; 0 for none");

static char *stutter;
module_param(stutter, charp, 0444);
MODULE_PARM_DESC(stutter, "Seconds after which all writers pause, and again go on; 0 for none");

static char *shuffle_interval;
module_param(shuffle_interval, charp, 0444);
MODULE_PARM_DESC(shuffle_interval, "Seconds after which another CPU is left to no writer; 0 for none");

static char *onoff_interval;
module_param(onoff_interval, charp, 0444);
MODULE_PARM_DESC(onoff_interval, "Seconds after which a CPU goes off line, or comes back; 0 for none");

static char *onoff_holdoff;
module_param(onoff_holdoff, charp, 0444);
MODULE_PARM_DESC(onoff_holdoff, "Seconds of a run before the first CPU goes off line");

static char *bind_writers;
module_param(bind_writers, charp, 0444);
MODULE_PARM_DESC(bind_writers, "CPUs that writers run on: a number, or first-last; all (default)");

static char *nested_locks;
module_param(nested_locks, charp, 0444);
MODULE_PARM_DESC(nested_locks, "Locks, at most 8, of which some are taken before each section's own");

static char *rt_boost;
module_param(rt_boost, charp, 0444);
MODULE_PARM_DESC(rt_boost, "2: a writer becomes a real-time thread now and then; 0 for none");

static char *rt_boost_factor;
module_param(rt_boost_factor, charp, 0444);
MODULE_PARM_DESC(rt_boost_factor, "How seldom it does (50)");

static char *writer_fifo;
module_param(writer_fifo, charp, 0444);
MODULE_PARM_DESC(writer_fifo, "1: writers are real-time threads");

static char *acq_writer_lim;
module_param(acq_writer_lim, charp, 0444);
MODULE_PARM_DESC(acq_writer_lim, "Jiffies that a writer may wait; 0 for no limit");

static char *nlocks;
module_param(nlocks, charp, 0444);
MODULE_PARM_DESC(nlocks, "Locks, of which each section draws one");

static char *try_lock;
module_param(try_lock, charp, 0444);
MODULE_PARM_DESC(try_lock, "1: writers try first, and wait if that fails");

static char *irq_interval;
module_param(irq_interval, charp, 0444);
MODULE_PARM_DESC(irq_interval, "Microseconds between sections of an interrupt on a writer's CPU; 0 for none");

static char *latency;
module_param(latency, charp, 0444);
MODULE_PARM_DESC(latency, "1: the times of waits and hand-overs are taken");

static char *experiment;
module_param(experiment, charp, 0444);
MODULE_PARM_DESC(experiment, "torture; uncontended: time lone pairs; none: wait for debugfs handover/control");

static const struct {
	const char *name;
	char **value;
} parameters[] = {
	{ "torture_type", &torture_type },
	{ "nwriters_stress", &nwriters_stress },
	{ "cs_steps", &cs_steps },
	{ "ncs_steps", &ncs_steps },
	{ "duration", &duration },
	{ "runs", &runs },
	{ "stat_interval", &stat_interval },
	{ "verbose", &verbose },
	{ "seed", &seed },
	{ "checks", &checks },
	{ "stall_secs", &stall_secs },
	{ "long_hold", &long_hold },
	{ "stutter", &stutter },
	{ "shuffle_interval", &shuffle_interval },
	{ "onoff_interval", &onoff_interval },
	{ "onoff_holdoff", &onoff_holdoff },
	{ "bind_writers", &bind_writers },
	{ "nested_locks", &nested_locks },
	{ "rt_boost", &rt_boost },
	{ "rt_boost_factor", &rt_boost_factor },
	{ "writer_fifo", &writer_fifo },
	{ "acq_writer_lim", &acq_writer_lim },
	{ "nlocks", &nlocks },
	{ "try_lock", &try_lock },
	{ "irq_interval", &irq_interval },
	{ "latency", &latency },
	{ "experiment", &experiment },
};

/* What was given for the parameter @key of @len bytes, or NULL. */
const char *handover_param(const char *key, size_t len)
{
	for (int i = 0; i < ARRAY_SIZE(parameters); i++)
		if (len == strlen(parameters[i].name) && !memcmp(key, parameters[i].name, len))
			return *parameters[i].value;
	return NULL;
}

void handover_raw_spin_init(raw_spinlock_t *lock, const char *name, struct lock_class_key *key)
{
	raw_spin_lock_init(lock);
	lockdep_set_class_and_name(lock, key, name);
}

/* Only for kernels that inline these; elsewhere the kernel's own are called. */
void handover_raw_spin_lock(raw_spinlock_t *lock)
{
	raw_spin_lock(lock);
}

void handover_raw_spin_unlock(raw_spinlock_t *lock)
{
	raw_spin_unlock(lock);
}

void handover_raw_spin_lock_irq(raw_spinlock_t *lock)
{
	raw_spin_lock_irq_disable(lock);
}

bool handover_raw_spin_trylock_irq(raw_spinlock_t *lock)
{
	return raw_spin_trylock_irq_disable(lock);
}

void handover_raw_spin_unlock_irq(raw_spinlock_t *lock)
{
	raw_spin_unlock_irq_enable(lock);
}

#ifdef CONFIG_BPF_SYSCALL
static_assert(sizeof(rqspinlock_t) == sizeof(u32));

/*
 * False: the caller would wait for ever, and does not have the lock. A wait that the lock gives up
 * after RES_DEF_TIMEOUT begins anew: on a busy host its holder may have no CPU for as long.
 */
bool handover_res_spin_lock(rqspinlock_t *lock)
{
	int error;

	do
		error = raw_res_spin_lock(lock);
	while (error == -ETIMEDOUT);
	return !error;
}

/* The kernel has none: the fast path of res_spin_lock(). */
bool handover_res_spin_trylock(rqspinlock_t *lock)
{
	u32 *word = (u32 *)lock;
	u32 free = 0;

	preempt_disable();
	grab_held_lock_entry(lock);
	if (likely(try_cmpxchg_acquire(word, &free, 1)))
		return true;
	release_held_lock_entry();
	preempt_enable();
	return false;
}

/* The last lock that was taken, and has not been released. */
void handover_res_spin_unlock(rqspinlock_t *lock)
{
	raw_res_spin_unlock(lock);
}
#endif

/*
 * A timer, once it is started: @fn(@arg) every @ns, from its interrupt, under
 * PREEMPT_RT and threadirqs too. It does so where every CPU spins with
 * preemption off, but not on one whose interrupts are off.
 */
struct handover_timer {
	struct hrtimer timer;
	void (*fn)(void *arg);
	void *arg;
	u64 ns;
};

static enum hrtimer_restart timer_tick(struct hrtimer *hrtimer)
{
	struct handover_timer *timer = container_of(hrtimer, struct handover_timer, timer);

	timer->fn(timer->arg);
	hrtimer_forward_now(hrtimer, ns_to_ktime(timer->ns));
	return HRTIMER_RESTART;
}

/* NULL where there is no room. */
struct handover_timer *handover_timer_new(void (*fn)(void *arg), void *arg, u64 ns)
{
	struct handover_timer *timer = kmalloc_obj(*timer);

	if (!timer)
		return NULL;
	timer->fn = fn;
	timer->arg = arg;
	timer->ns = ns;
	hrtimer_setup(&timer->timer, timer_tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	return timer;
}

/* Pinned: on this CPU until that goes off line. */
void handover_timer_start(struct handover_timer *timer, bool pinned)
{
	hrtimer_start(&timer->timer, ns_to_ktime(timer->ns),
		      pinned ? HRTIMER_MODE_REL_PINNED_HARD : HRTIMER_MODE_REL_HARD);
}

/* Waits for the interrupt that runs. */
void handover_timer_stop(struct handover_timer *timer)
{
	hrtimer_cancel(&timer->timer);
}

/* Stops it, too. */
void handover_timer_free(struct handover_timer *timer)
{
	handover_timer_stop(timer);
	kfree(timer);
}

bool handover_irqs_disabled(void)
{
	return irqs_disabled();
}

/*
 * A stopped kthread @name/@id with a reference held; bound to @cpu where that is >= 0.
 * Of its name the kernel keeps TASK_COMM_LEN - 1 bytes.
 */
struct task_struct *handover_kthread_create(int (*fn)(void *), void *arg, const char *name,
					    unsigned int id, int cpu)
{
	struct task_struct *task = kthread_create(fn, arg, "%s/%u", name, id);

	if (!IS_ERR(task)) {
		get_task_struct(task);
		if (cpu >= 0)
			kthread_bind(task, cpu);
	}
	return task;
}

void handover_kthread_start(struct task_struct *task)
{
	wake_up_process(task);
}

/* The current kthread's nice value from here on. */
void handover_give_way(int nice)
{
	set_user_nice(current, nice);
}

int handover_kthread_nice(struct task_struct *task)
{
	return task_nice(task);
}

/* Whether it has a CPU at this moment. */
bool handover_kthread_on_cpu(struct task_struct *task)
{
#ifdef CONFIG_SMP
	return READ_ONCE(task->on_cpu);
#else
	return task == current;
#endif
}

/* Also of one that was never started: its function is not called then. */
void handover_kthread_stop(struct task_struct *task)
{
	kthread_stop(task);
	put_task_struct(task);
}

/* Sleeps until kthread_stop() is called on the current kthread. */
void handover_kthread_await_stop(void)
{
	set_current_state(TASK_INTERRUPTIBLE);
	while (!kthread_should_stop()) {
		schedule();
		set_current_state(TASK_INTERRUPTIBLE);
	}
	__set_current_state(TASK_RUNNING);
}

/*
 * Between two sections, where nothing is held. A quiescent state of RCU Tasks, which
 * cond_resched() alone is not: a thread that frees a trampoline waits for it.
 */
void handover_cond_resched(void)
{
	cond_resched_tasks_rcu_qs();
}

/*
 * Idle: a long wait is no hung task. An interrupt ends the sleep, under PREEMPT_RT and threadirqs
 * too: a CPU whose lock hangs runs no thread, and who fell asleep there is to say so.
 */
void handover_sleep_ms(unsigned int ms)
{
	ktime_t time = ms_to_ktime(ms);

	__set_current_state(TASK_IDLE);
	schedule_hrtimeout_range(&time, NSEC_PER_MSEC, HRTIMER_MODE_REL_HARD);
}

u64 handover_now_ns(void)
{
	return ktime_get_ns();
}

/* The time stamp counter: the loads before are done, and no store after it is seen before. */
u64 handover_stamp(void)
{
#ifdef CONFIG_X86
	return rdtsc_ordered();
#else
	return 0;
#endif
}

/* Its thousands of ticks a second. 0: they are not the same on all CPUs at all times. */
unsigned int handover_stamp_khz(void)
{
#ifdef CONFIG_X86
	return check_tsc_unstable() ? 0 : tsc_khz;
#else
	return 0;
#endif
}

u64 handover_random(void)
{
	return get_random_u64();
}

unsigned int handover_online_cpus(void)
{
	return num_online_cpus();
}

u64 handover_steal_ns(void)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += kcpustat_cpu(cpu).cpustat[CPUTIME_STEAL];
	return sum;
}

#if IS_BUILTIN(CONFIG_KUNIT)
/* For a test, which takes it back: as if that much had been stolen from @cpu. */
void handover_steal(unsigned int cpu, u64 ns)
{
	kcpustat_cpu(cpu).cpustat[CPUTIME_STEAL] += ns;
}
#endif

/* Keeps the module from unloading; false if it is being unloaded already. */
bool handover_pin_module(void)
{
	return try_module_get(THIS_MODULE);
}

void handover_unpin_module(void)
{
	module_put(THIS_MODULE);
}

/*
 * debugfs, for root alone. The kernel's Rust binding leaves the owner of a file
 * unset, so that a file held open outlives the module that it calls: here an
 * open file keeps the module.
 */
static const struct handover_files *files;
static struct dentry *files_dir;

static int files_show(struct seq_file *seq, void *unused)
{
	return files->show(files->arg, seq, (unsigned long)seq->private);
}
DEFINE_SHOW_ATTRIBUTE(files);

static ssize_t control_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	char *text;
	int err;

	if (len > HANDOVER_MAX_COMMAND) {
		pr_err("control: at most %u bytes\n", HANDOVER_MAX_COMMAND);
		return -EINVAL;
	}
	text = memdup_user_nul(from, len);
	if (IS_ERR(text))
		return PTR_ERR(text);
	err = files->write(files->arg, text, len);
	kfree(text);
	return err ? err : len;
}

static const struct file_operations control_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = control_write,
};

/* Returns when no thread is in a file any more. */
void handover_files_remove(void)
{
	debugfs_remove(files_dir);
	files_dir = NULL;
}

/* Makes handover/ with control and a file for each of @names, up to a NULL; or an errno, and none of them. */
int handover_files_create(const struct handover_files *ops, const char *const *names)
{
	struct dentry *file;

	files = ops;
	files_dir = debugfs_create_dir("handover", NULL);
	if (IS_ERR(files_dir))
		return PTR_ERR(files_dir);
	file = debugfs_create_file("control", 0200, files_dir, NULL, &control_fops);
	for (unsigned long i = 0; !IS_ERR(file) && names[i]; i++)
		file = debugfs_create_file(names[i], 0400, files_dir, (void *)i, &files_fops);
	if (!IS_ERR(file))
		return 0;
	handover_files_remove();
	return PTR_ERR(file);
}
