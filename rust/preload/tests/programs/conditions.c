// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/* Condition variables: a bounded buffer, order, time limits, cancellation, process-shared ones. */
#include "due.h"

enum { SIDE = 3, ROOM = 8 };

/* The program's argument divides it: threads that spin, and are more than CPUs, are slow. */
static int items = 20000;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static int buffer[ROOM], filled;
static long long sum;

static void *produces(void *first)
{
	for (long i = 0; i < items; i++) {
		pthread_mutex_lock(&mutex);
		while (filled == ROOM)
			DUE(pthread_cond_wait(&not_full, &mutex), 0);
		buffer[filled++] = (long)first + i;
		pthread_mutex_unlock(&mutex);
		DUE(pthread_cond_signal(&not_empty), 0);
	}
	return NULL;
}

static void *consumes(void *unused)
{
	for (int i = 0; i < items; i++) {
		pthread_mutex_lock(&mutex);
		while (!filled)
			DUE(pthread_cond_wait(&not_empty, &mutex), 0);
		sum += buffer[--filled];
		DUE(pthread_cond_signal(&not_full), 0);
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

static void bounded_buffer(void)
{
	pthread_t producers[SIDE], consumers[SIDE];

	for (long i = 0; i < SIDE; i++) {
		begin(&producers[i], produces, (void *)(i * items));
		begin(&consumers[i], consumes, NULL);
	}
	for (int i = 0; i < SIDE; i++) {
		end(producers[i]);
		end(consumers[i]);
	}
	DUE(sum, (long long)SIDE * items * (SIDE * items - 1) / 2);
}

static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static int waiting, woken[8], wakes, go;

static void *waits_its_turn(void *number)
{
	pthread_mutex_lock(&mutex);
	waiting++;
	DUE(pthread_cond_wait(&turn, &mutex), 0);
	woken[wakes++] = (long)number;
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void until(int *variable, int value)
{
	for (;;) {
		int is;

		pthread_mutex_lock(&mutex);
		is = *variable;
		pthread_mutex_unlock(&mutex);
		if (is == value)
			return;
		usleep(100);
	}
}

/* One signal wakes one thread, the one that waits longest. */
static void first_come(void)
{
	pthread_t threads[8];

	for (long i = 0; i < 8; i++) {
		begin(&threads[i], waits_its_turn, (void *)i);
		until(&waiting, i + 1);
	}
	/* They will own it again. */
	DUE(pthread_mutex_destroy(&mutex), EBUSY);
	for (int i = 0; i < 5; i++) {
		DUE(pthread_cond_signal(&turn), 0);
		until(&wakes, i + 1);
		usleep(2000);
		DUE(wakes, i + 1);
		DUE(woken[i], i);
	}
	DUE(pthread_cond_broadcast(&turn), 0);
	for (int i = 0; i < 8; i++)
		end(threads[i]);
	DUE(wakes, 8);
	/* Nobody waits: neither is kept for later. */
	DUE(pthread_cond_signal(&turn), 0);
	DUE(pthread_cond_broadcast(&turn), 0);
}

/* Whoever is over time is off the list: the signal afterwards is another's. */
static void time_limits(void)
{
	pthread_condattr_t attributes;
	pthread_cond_t steady;
	struct timespec limit, now;
	pthread_t other;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	memset(&steady, 0xff, sizeof(steady));
	DUE(pthread_cond_init(&steady, &attributes), 0);
	pthread_mutex_lock(&mutex);
	limit = in_ms(CLOCK_REALTIME, 20);
	DUE(pthread_cond_timedwait(&turn, &mutex, &limit), ETIMEDOUT);
	limit = in_ms(CLOCK_MONOTONIC, 20);
	DUE(pthread_cond_timedwait(&steady, &mutex, &limit), ETIMEDOUT);
	limit = in_ms(CLOCK_MONOTONIC, 20);
	DUE(pthread_cond_clockwait(&turn, &mutex, CLOCK_MONOTONIC, &limit), ETIMEDOUT);
	now = in_ms(CLOCK_MONOTONIC, 0);
	DUE(now.tv_sec > limit.tv_sec || (now.tv_sec == limit.tv_sec && now.tv_nsec >= limit.tv_nsec), 1);
	limit = (struct timespec){ .tv_sec = -1 };
	DUE(pthread_cond_timedwait(&turn, &mutex, &limit), ETIMEDOUT);
	limit = (struct timespec){ .tv_nsec = 1000000000 };
	DUE(pthread_cond_timedwait(&turn, &mutex, &limit), EINVAL);
	limit = in_ms(CLOCK_MONOTONIC, 20);
	DUE(pthread_cond_clockwait(&turn, &mutex, CLOCK_THREAD_CPUTIME_ID, &limit), EINVAL);
	/* Each of them has the mutex again. */
	DUE(pthread_mutex_trylock(&mutex), EBUSY);
	pthread_mutex_unlock(&mutex);
	/* Nobody owns it: nothing is released, and the thread owns it afterwards. */
	limit = in_ms(CLOCK_REALTIME, 20);
	DUE(pthread_cond_timedwait(&turn, &mutex, &limit), ETIMEDOUT);
	DUE(pthread_mutex_trylock(&mutex), EBUSY);
	DUE(pthread_mutex_unlock(&mutex), 0);

	waiting = wakes = 0;
	begin(&other, waits_its_turn, (void *)7L);
	until(&waiting, 1);
	DUE(pthread_cond_signal(&turn), 0);
	end(other);
	DUE(wakes, 1);
	DUE(pthread_cond_destroy(&steady), 0);
	pthread_condattr_destroy(&attributes);
}

static int cleaned, was_signalled;

static void cleans(void *unused)
{
	(void)unused;
	/* The cancelled thread has the mutex, as POSIX says. */
	DUE(pthread_mutex_trylock(&mutex), EBUSY);
	cleaned++;
	DUE(pthread_mutex_unlock(&mutex), 0);
}

static void *is_cancelled(void *limited)
{
	struct timespec limit = in_ms(CLOCK_REALTIME, 60000);

	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(cleans, NULL);
	waiting++;
	while (!go)
		if (limited)
			pthread_cond_timedwait(&turn, &mutex, &limit);
		else
			pthread_cond_wait(&turn, &mutex);
	was_signalled = 1;
	pthread_cleanup_pop(1);
	return NULL;
}

static void cancellation(void)
{
	pthread_t first, second;

	for (long limited = 0; limited < 2; limited++) {
		waiting = wakes = cleaned = 0;
		begin(&first, is_cancelled, (void *)limited);
		until(&waiting, 1);
		begin(&second, waits_its_turn, (void *)1L);
		until(&waiting, 2);
		DUE(pthread_cancel(first), 0);
		DUE((long)end(first), (long)PTHREAD_CANCELED);
		DUE(cleaned, 1);
		/* The signal is the other's. */
		DUE(pthread_cond_signal(&turn), 0);
		end(second);
		DUE(wakes, 1);
	}
	/* A signal and a cancellation at once: either the first has the signal, or the second. */
	for (int i = 0; i < 200; i++) {
		waiting = wakes = cleaned = go = was_signalled = 0;
		begin(&first, is_cancelled, NULL);
		until(&waiting, 1);
		begin(&second, waits_its_turn, (void *)1L);
		until(&waiting, 2);
		pthread_mutex_lock(&mutex);
		go = 1;
		pthread_mutex_unlock(&mutex);
		DUE(pthread_cond_signal(&turn), 0);
		DUE(pthread_cancel(first), 0);
		/*
		 * What it returns does not say so: glibc's handler sets PTHREAD_CANCELED also where the signal comes
		 * behind the thread's return, as it may once the wait is over.
		 */
		end(first);
		if (was_signalled)
			DUE(pthread_cond_signal(&turn), 0);
		DUE(cleaned, 1);
		/* Where the cancelled one had the signal, it has passed it on; else it would be lost. */
		end(second);
		DUE(wakes, 1);
	}
	go = 0;
}

struct short_lived {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int is_done;
};

static void *finishes(void *argument)
{
	struct short_lived *here = argument;

	pthread_mutex_lock(&here->mutex);
	here->is_done = 1;
	pthread_cond_signal(&here->cond);
	pthread_mutex_unlock(&here->mutex);
	return NULL;
}

/* Destroyed and overwritten by who was woken and handed the mutex. */
static void destruction(void)
{
	for (int i = 0; i < 2000; i++) {
		struct short_lived *here = calloc(1, sizeof(*here));
		pthread_t other;

		pthread_mutex_lock(&here->mutex);
		begin(&other, finishes, here);
		while (!here->is_done)
			pthread_cond_wait(&here->cond, &here->mutex);
		pthread_mutex_unlock(&here->mutex);
		DUE(pthread_cond_destroy(&here->cond), 0);
		DUE(pthread_mutex_destroy(&here->mutex), 0);
		memset(here, 0xa5, sizeof(*here));
		end(other);
		for (size_t byte = 0; byte < sizeof(*here); byte++)
			DUE(((unsigned char *)here)[byte], 0xa5);
		free(here);
	}
}

static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void *waits_with_it(void *unused)
{
	(pthread_mutex_lock)(&recursive);
	pthread_mutex_lock(&mutex);
	waiting++;
	pthread_mutex_unlock(&mutex);
	DUE(pthread_cond_wait(&turn, &recursive), 0);
	(pthread_mutex_unlock)(&recursive);
	return unused;
}

/* glibc destroys its mutexes itself, and knows nothing of who waits for a condition variable of ours. */
static void in_use_by_a_waiter(void)
{
	pthread_t other;

	waiting = 0;
	begin(&other, waits_with_it, NULL);
	until(&waiting, 1);
	(pthread_mutex_lock)(&recursive);
	(pthread_mutex_unlock)(&recursive);
	DUE(pthread_mutex_destroy(&recursive), EBUSY);
	DUE(pthread_cond_signal(&turn), 0);
	end(other);
	DUE(pthread_mutex_destroy(&recursive), 0);
}

static void shared(void)
{
	pthread_condattr_t attributes;
	pthread_cond_t cond;

	pthread_condattr_init(&attributes);
	pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	DUE(pthread_cond_init(&cond, &attributes), 0);
	DUE((pthread_cond_signal)(&cond), 0);
	DUE((pthread_cond_broadcast)(&cond), 0);
	DUE(pthread_cond_destroy(&cond), 0);
	pthread_condattr_destroy(&attributes);
}

int main(int argc, char **argv)
{
	end_if_it_hangs(40);
	if (argc > 1)
		items /= atoi(argv[1]);
	bounded_buffer();
	first_come();
	time_limits();
	cancellation();
	destruction();
	in_use_by_a_waiter();
	shared();
	/* Two threads lock and unlock; one destroys twice. */
	return tell(2 * 2 + 2, 3);
}
