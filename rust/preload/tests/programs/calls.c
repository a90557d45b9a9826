// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/*
 * A library that stands between a program and libhandover.so. It counts the calls for itself, hands them on, and tells its
 * numbers on exit. It judges by kind and attributes whose a mutex or a condition variable is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum call { LOCK, TRY, TIMED, UNLOCK, WAIT, TIMED_WAIT, SIGNAL, BROADCAST, LEFT_MUTEX, LEFT_COND, CALLS };

static const char *const names[CALLS] = {
	"locks",	    "try_locks",    "timed_locks",     "unlocks",      "cond_waits",
	"cond_timed_waits", "cond_signals", "cond_broadcasts", "left_mutexes", "left_conds",
};
static atomic_llong counts[CALLS];

/*
 * Set on exit. Who calls from then on waits until the numbers of both libraries are told, which the calls that are under way
 * have to be in.
 */
static atomic_int over;
static pthread_t who_exits;

enum { UNDER_WAY_US = 20000, LONG_US = 200000 };

static void called(enum call call)
{
	if (over && !pthread_equal(pthread_self(), who_exits))
		usleep(LONG_US);
	counts[call]++;
}

/* Condition variables that processes share. */
enum { SHARED = 16 };

static atomic_uintptr_t shared[SHARED];

static void *find(void **found, const char *name)
{
	void *next = *found;

	if (!next)
		*found = next = dlsym(RTLD_NEXT, name);
	return next;
}

/* The function of the next library that has one of this name. */
#define NEXT(name) ({ static void *found; (__typeof__(&(name)))find(&found, #name); })

static void mutex(pthread_mutex_t *at, enum call call)
{
	int kind = at->__data.__kind & ~0x300;

	called(kind == PTHREAD_MUTEX_TIMED_NP || kind == PTHREAD_MUTEX_ADAPTIVE_NP ? call : LEFT_MUTEX);
}

static void cond(pthread_cond_t *at, enum call call)
{
	for (int i = 0; i < SHARED; i++)
		if (shared[i] == (uintptr_t)at)
			call = LEFT_COND;
	called(call);
}

int pthread_mutex_lock(pthread_mutex_t *at)
{
	mutex(at, LOCK);
	return NEXT(pthread_mutex_lock)(at);
}

int pthread_mutex_trylock(pthread_mutex_t *at)
{
	mutex(at, TRY);
	return NEXT(pthread_mutex_trylock)(at);
}

int pthread_mutex_unlock(pthread_mutex_t *at)
{
	mutex(at, UNLOCK);
	return NEXT(pthread_mutex_unlock)(at);
}

int pthread_mutex_timedlock(pthread_mutex_t *at, const struct timespec *limit)
{
	mutex(at, TIMED);
	return NEXT(pthread_mutex_timedlock)(at, limit);
}

int pthread_mutex_clocklock(pthread_mutex_t *at, clockid_t clock, const struct timespec *limit)
{
	mutex(at, TIMED);
	return NEXT(pthread_mutex_clocklock)(at, clock, limit);
}

/* Only what is left to glibc counts. */
int pthread_mutex_destroy(pthread_mutex_t *at)
{
	int kind = at->__data.__kind & ~0x300;

	if (kind != PTHREAD_MUTEX_TIMED_NP && kind != PTHREAD_MUTEX_ADAPTIVE_NP)
		called(LEFT_MUTEX);
	return NEXT(pthread_mutex_destroy)(at);
}

int pthread_cond_init(pthread_cond_t *at, const pthread_condattr_t *attributes)
{
	int sharing = PTHREAD_PROCESS_PRIVATE;

	if (attributes)
		pthread_condattr_getpshared(attributes, &sharing);
	for (int i = 0; sharing == PTHREAD_PROCESS_SHARED; i++) {
		uintptr_t none = 0;

		if (i == SHARED)
			abort();
		if (atomic_compare_exchange_strong(&shared[i], &none, (uintptr_t)at))
			break;
	}
	return NEXT(pthread_cond_init)(at, attributes);
}

int pthread_cond_destroy(pthread_cond_t *at)
{
	for (int i = 0; i < SHARED; i++)
		if (shared[i] == (uintptr_t)at) {
			called(LEFT_COND);
			shared[i] = 0;
		}
	return NEXT(pthread_cond_destroy)(at);
}

int pthread_cond_wait(pthread_cond_t *at, pthread_mutex_t *held)
{
	cond(at, WAIT);
	return NEXT(pthread_cond_wait)(at, held);
}

int pthread_cond_timedwait(pthread_cond_t *at, pthread_mutex_t *held, const struct timespec *limit)
{
	cond(at, TIMED_WAIT);
	return NEXT(pthread_cond_timedwait)(at, held, limit);
}

int pthread_cond_clockwait(pthread_cond_t *at, pthread_mutex_t *held, clockid_t clock, const struct timespec *limit)
{
	cond(at, TIMED_WAIT);
	return NEXT(pthread_cond_clockwait)(at, held, clock, limit);
}

int pthread_cond_signal(pthread_cond_t *at)
{
	cond(at, SIGNAL);
	return NEXT(pthread_cond_signal)(at);
}

int pthread_cond_broadcast(pthread_cond_t *at)
{
	cond(at, BROADCAST);
	return NEXT(pthread_cond_broadcast)(at);
}

/* A child counts from 0. */
static void in_child(void)
{
	for (int i = 0; i < CALLS; i++)
		counts[i] = 0;
}

__attribute__((constructor)) static void at_load(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

__attribute__((destructor)) static void tell(void)
{
	char line[512];
	int end = snprintf(line, sizeof(line), "calls:");

	who_exits = pthread_self();
	over = 1;
	usleep(UNDER_WAY_US);
	for (int i = 0; i < CALLS; i++)
		end += snprintf(line + end, sizeof(line) - end, " %s=%lld", names[i], (long long)counts[i]);
	line[end++] = '\n';
	if (write(2, line, end) != end)
		abort();
}
