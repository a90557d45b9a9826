// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/* Mutexes of each kind: exclusion, trying, time limits. Prints how many calls of each kind it has made. */
#include "due.h"

enum { THREADS = 4, SECTIONS = 20000 };

static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static long normals, adaptives;

static void *increments(void *unused)
{
	for (int i = 0; i < SECTIONS; i++) {
		DUE(pthread_mutex_lock(&normal), 0);
		normals++;
		DUE(pthread_mutex_unlock(&normal), 0);
		DUE(pthread_mutex_lock(&adaptive), 0);
		adaptives++;
		DUE(pthread_mutex_unlock(&adaptive), 0);
	}
	return unused;
}

/* What waits until a time does not end before. */
static void not_before(clockid_t clock, struct timespec limit)
{
	struct timespec now;

	clock_gettime(clock, &now);
	DUE(now.tv_sec > limit.tv_sec || (now.tv_sec == limit.tv_sec && now.tv_nsec >= limit.tv_nsec), 1);
}

static void *cannot_enter(void *mutex)
{
	struct timespec real = in_ms(CLOCK_REALTIME, 20), steady = in_ms(CLOCK_MONOTONIC, 40);
	struct timespec no_time = { .tv_sec = real.tv_sec, .tv_nsec = 1000000000 };

	DUE(pthread_mutex_trylock(mutex), EBUSY);
	DUE(pthread_mutex_timedlock(mutex, &real), ETIMEDOUT);
	not_before(CLOCK_REALTIME, real);
	DUE(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &steady), ETIMEDOUT);
	not_before(CLOCK_MONOTONIC, steady);
	DUE(pthread_mutex_timedlock(mutex, &no_time), EINVAL);
	DUE(pthread_mutex_clocklock(mutex, CLOCK_THREAD_CPUTIME_ID, &steady), EINVAL);
	steady = in_ms(CLOCK_MONOTONIC, -20);
	DUE(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &steady), ETIMEDOUT);
	return NULL;
}

static void one_owner(pthread_mutex_t *mutex)
{
	struct timespec later = in_ms(CLOCK_REALTIME, 60000);
	pthread_t other;

	DUE(pthread_mutex_lock(mutex), 0);
	begin(&other, cannot_enter, mutex);
	end(other);
	DUE(pthread_mutex_destroy(mutex), EBUSY);
	DUE(pthread_mutex_unlock(mutex), 0);
	DUE(pthread_mutex_trylock(mutex), 0);
	DUE(pthread_mutex_unlock(mutex), 0);
	DUE(pthread_mutex_timedlock(mutex, &later), 0);
	DUE(pthread_mutex_unlock(mutex), 0);
}

static void kind(int kind, int protocol, int robust, int shared)
{
	pthread_mutexattr_t attributes;
	pthread_mutex_t mutex;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, kind);
	pthread_mutexattr_setprotocol(&attributes, protocol);
	pthread_mutexattr_setrobust(&attributes, robust);
	pthread_mutexattr_setpshared(&attributes, shared);
	memset(&mutex, 0xff, sizeof(mutex));
	DUE(pthread_mutex_init(&mutex, &attributes), 0);
	DUE((pthread_mutex_lock)(&mutex), 0);
	if (kind == PTHREAD_MUTEX_RECURSIVE) {
		DUE((pthread_mutex_lock)(&mutex), 0);
		DUE((pthread_mutex_unlock)(&mutex), 0);
	}
	if (kind == PTHREAD_MUTEX_ERRORCHECK)
		DUE((pthread_mutex_lock)(&mutex), EDEADLK);
	DUE((pthread_mutex_unlock)(&mutex), 0);
	DUE(pthread_mutex_destroy(&mutex), 0);
	pthread_mutexattr_destroy(&attributes);
}

int main(void)
{
	alarm(30);
	pthread_t threads[THREADS];
	pthread_mutex_t made;

	for (int i = 0; i < THREADS; i++)
		begin(&threads[i], increments, NULL);
	for (int i = 0; i < THREADS; i++)
		end(threads[i]);
	DUE(normals, THREADS * SECTIONS);
	DUE(adaptives, THREADS * SECTIONS);

	one_owner(&normal);
	one_owner(&adaptive);
	/* Nobody owns it: the next owner is none the worse for it. */
	if (getenv("HANDOVER_LOCK"))
		DUE(pthread_mutex_unlock(&normal), EPERM);
	one_owner(&normal);
	/* glibc writes flags into the kind where a CPU elides locks: the mutex stays ours. */
	if (getenv("HANDOVER_LOCK"))
		normal.__data.__kind |= 0x100;
	one_owner(&normal);

	memset(&made, 0xff, sizeof(made));
	DUE(pthread_mutex_init(&made, NULL), 0);
	one_owner(&made);
	DUE(pthread_mutex_destroy(&made), 0);
	/* Nobody takes it until it is initialised. */
	DUE((pthread_mutex_trylock)(&made), EINVAL);
	DUE(pthread_mutex_init(&made, NULL), 0);
	one_owner(&made);

	/* init is glibc's for all; then what each kind leaves to it. */
	kind(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, PTHREAD_PROCESS_PRIVATE);
	kind(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, PTHREAD_PROCESS_PRIVATE);
	kind(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED, PTHREAD_PROCESS_PRIVATE);
	kind(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST, PTHREAD_PROCESS_PRIVATE);
	kind(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, PTHREAD_PROCESS_SHARED);
	/* The try of a destroyed one. Five kinds lock, unlock and destroy; the first does two more, the second one. */
	return tell(1 + 5 * 3 + 2 + 1, 0);
}
