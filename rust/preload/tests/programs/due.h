/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/* What the programs share. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hangs.h"

/* Ends the program if two numbers differ. */
#define DUE(is, due) \
	do { \
		long long is_ = (is), due_ = (due); \
		if (is_ != due_) { \
			fprintf(stderr, "%s:%d: %s is %lld, due is %lld\n", __FILE__, __LINE__, #is, is_, due_); \
			_exit(1); \
		} \
		check_passed(); \
	} while (0)

static inline struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	} else if (t.tv_nsec < 0) {
		t.tv_sec--;
		t.tv_nsec += 1000000000;
	}
	return t;
}

static inline void begin(pthread_t *thread, void *(*body)(void *), void *argument)
{
	DUE(pthread_create(thread, NULL, body, argument), 0);
}

static inline void *end(pthread_t thread)
{
	void *result;

	DUE(pthread_join(thread, &result), 0);
	return result;
}

/* How often the program calls each function; where one is called as (name)(...), it is not counted. */
static atomic_llong locks, try_locks, timed_locks, unlocks, cond_waits, cond_timed_waits, cond_signals, cond_broadcasts;

#define pthread_mutex_lock(mutex) ((void)locks++, pthread_mutex_lock(mutex))
#define pthread_mutex_trylock(mutex) ((void)try_locks++, pthread_mutex_trylock(mutex))
#define pthread_mutex_timedlock(mutex, limit) ((void)timed_locks++, pthread_mutex_timedlock(mutex, limit))
#define pthread_mutex_clocklock(mutex, clock, limit) ((void)timed_locks++, pthread_mutex_clocklock(mutex, clock, limit))
#define pthread_mutex_unlock(mutex) ((void)unlocks++, pthread_mutex_unlock(mutex))
#define pthread_cond_wait(cond, mutex) ((void)cond_waits++, pthread_cond_wait(cond, mutex))
#define pthread_cond_timedwait(cond, mutex, limit) ((void)cond_timed_waits++, pthread_cond_timedwait(cond, mutex, limit))
#define pthread_cond_clockwait(cond, mutex, clock, limit) \
	((void)cond_timed_waits++, pthread_cond_clockwait(cond, mutex, clock, limit))
#define pthread_cond_signal(cond) ((void)cond_signals++, pthread_cond_signal(cond))
#define pthread_cond_broadcast(cond) ((void)cond_broadcasts++, pthread_cond_broadcast(cond))

/* The statistics that are due: what the program has called, and how much of that is glibc's. */
static inline int tell(int left_mutexes, int left_conds)
{
	printf("locks=%lld try_locks=%lld timed_locks=%lld unlocks=%lld ", locks, try_locks, timed_locks, unlocks);
	printf("cond_waits=%lld cond_timed_waits=%lld ", cond_waits, cond_timed_waits);
	printf("cond_signals=%lld cond_broadcasts=%lld ", cond_signals, cond_broadcasts);
	printf("left_mutexes=%d left_conds=%d\n", left_mutexes, left_conds);
	return 0;
}
