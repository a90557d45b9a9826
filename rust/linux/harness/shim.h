/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HANDOVER_HARNESS_SHIM_H
#define HANDOVER_HARNESS_SHIM_H

#include <linux/types.h>
#include <linux/spinlock_types.h>
#ifdef CONFIG_BPF_SYSCALL
#include <asm/rqspinlock.h>
#endif

struct handover_timer;
struct lock_class_key;
struct seq_file;
struct task_struct;

const char *handover_param(const char *key, size_t len);
void handover_raw_spin_init(raw_spinlock_t *lock, const char *name, struct lock_class_key *key);
void handover_raw_spin_lock(raw_spinlock_t *lock);
void handover_raw_spin_unlock(raw_spinlock_t *lock);
#ifdef CONFIG_BPF_SYSCALL
bool handover_res_spin_lock(rqspinlock_t *lock);
bool handover_res_spin_trylock(rqspinlock_t *lock);
void handover_res_spin_unlock(rqspinlock_t *lock);
#endif
struct handover_timer *handover_timer_new(void (*fn)(void *arg), void *arg, u64 ns);
void handover_timer_start(struct handover_timer *timer, bool pinned);
void handover_timer_stop(struct handover_timer *timer);
void handover_timer_free(struct handover_timer *timer);
bool handover_irqs_disabled(void);
struct task_struct *handover_kthread_create(int (*fn)(void *), void *arg, const char *name,
					    unsigned int id, int cpu);
void handover_give_way(int nice);
int handover_kthread_nice(struct task_struct *task);
void handover_kthread_start(struct task_struct *task);
bool handover_kthread_on_cpu(struct task_struct *task);
void handover_kthread_stop(struct task_struct *task);
void handover_kthread_await_stop(void);
void handover_cond_resched(void);
void handover_sleep_ms(unsigned int ms);
u64 handover_now_ns(void);
u64 handover_stamp(void);
unsigned int handover_stamp_khz(void);
u64 handover_random(void);
unsigned int handover_online_cpus(void);
unsigned int handover_isolated_cpus(void);
u64 handover_steal_ns(void);
void handover_steal(unsigned int cpu, u64 ns);
const char *handover_release(void);
bool handover_has_hypervisor(void);
const char *handover_cpu_model(void);
unsigned int handover_hz(void);
const char *handover_preempt_model(void);
bool handover_smt(void);
unsigned int handover_numa_nodes(void);
bool handover_mitigations_off(void);
const char *handover_mitigation(unsigned int i, bool *on);
int handover_governor(unsigned int cpu, char *name, size_t len);
unsigned int handover_trace_events(char *names, size_t len);
int handover_code(unsigned int i, u8 *code, size_t len);
unsigned long handover_jiffies(void);
void handover_set_fifo(bool on, int nice);
void handover_hold_ms(unsigned int ms);
bool handover_raw_spin_trylock(raw_spinlock_t *lock);
void handover_raw_spin_lock_irq(raw_spinlock_t *lock);
bool handover_raw_spin_trylock_irq(raw_spinlock_t *lock);
void handover_raw_spin_unlock_irq(raw_spinlock_t *lock);
int handover_allow(struct task_struct *task, int first, int last, int but);
bool handover_any_online(unsigned int first, unsigned int last);
unsigned int handover_cpu_after(unsigned int cpu);
int handover_onoff(u32 drawn);
unsigned int handover_onoff_end(void);
bool handover_pin_module(void);
void handover_unpin_module(void);

/* The longest text that control takes. */
#define HANDOVER_MAX_COMMAND 512

/* What the files of debugfs call: @show writes the file with number @id. */
struct handover_files {
	void *arg;
	int (*show)(void *arg, struct seq_file *seq, unsigned long id);
	int (*write)(void *arg, const char *text, size_t len);
};

int handover_files_create(const struct handover_files *ops, const char *const *names);
void handover_files_remove(void);

#endif
