// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/* A process forks while its threads own, await and wait: the child goes on alone. */
#include "due.h"

enum { THREADS = 4, FORKS = 50 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int stop, waits;
static long count, others;

static void before(void)
{
	DUE(pthread_mutex_lock(&mutex), 0);
}

static void after(void)
{
	DUE(pthread_mutex_unlock(&mutex), 0);
}

static void *works(void *unused)
{
	for (;;) {
		int is_over;

		pthread_mutex_lock(&mutex);
		is_over = stop;
		count++;
		pthread_mutex_unlock(&mutex);
		if (is_over)
			return unused;
	}
}

static void *takes_other(void *unused)
{
	DUE(pthread_mutex_lock(&other), 0);
	others++;
	DUE(pthread_mutex_unlock(&other), 0);
	return unused;
}

static void *waits_for_the_end(void *unused)
{
	pthread_mutex_lock(&mutex);
	waits++;
	while (!stop)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void *is_signalled(void *done)
{
	pthread_mutex_lock(&mutex);
	while (!*(int *)done)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void in_child(void)
{
	pthread_t threads[THREADS];
	int done = 0;
	long from;

	alarm(10);
	pthread_mutex_lock(&mutex);
	stop = 0;
	from = count;
	pthread_mutex_unlock(&mutex);
	/* The parent's waiters are not here: the signal is for this child's. glibc's own takes them for waiters still. */
	if (!getenv("HANDOVER_LOCK"))
		cond = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	for (int i = 0; i < THREADS; i++)
		begin(&threads[i], is_signalled, &done);
	usleep(1000);
	pthread_mutex_lock(&mutex);
	DUE(count, from);
	done = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < THREADS; i++)
		end(threads[i]);
	stop = 1;
	for (int i = 0; i < THREADS; i++)
		begin(&threads[i], works, NULL);
	for (int i = 0; i < THREADS; i++)
		end(threads[i]);
	DUE(count, from + THREADS);
	DUE(pthread_mutex_lock(&other), 0);
	DUE(pthread_mutex_unlock(&other), 0);
}

/* The child owns a mutex for which a thread of the parent waits. Its own threads wait until it is unlocked, and then enter. */
static void unlocks_in_child(void)
{
	pthread_t threads[THREADS];

	alarm(10);
	for (int i = 0; i < THREADS; i++)
		begin(&threads[i], takes_other, NULL);
	/* Late threads show less here too, and fail nothing. */
	usleep(20000);
	DUE(others, 0);
	DUE(pthread_mutex_trylock(&other), EBUSY);
	DUE(pthread_mutex_unlock(&other), 0);
	for (int i = 0; i < THREADS; i++)
		end(threads[i]);
	DUE(others, THREADS);
	DUE(pthread_mutex_destroy(&other), 0);
	DUE(pthread_mutex_init(&other, NULL), 0);
}

static void forks(int depth)
{
	pid_t child = fork();
	int status;

	if (!child) {
		in_child();
		if (depth)
			forks(depth - 1);
		exit(0);
	}
	DUE(waitpid(child, &status, 0), child);
	DUE(status, 0);
}

int main(void)
{
	pthread_t threads[2 * THREADS], waits_for_other;
	int status;

	alarm(60);
	DUE(pthread_atfork(before, after, after), 0);
	for (int i = 0; i < THREADS; i++) {
		begin(&threads[i], works, NULL);
		begin(&threads[THREADS + i], waits_for_the_end, NULL);
	}
	while (pthread_mutex_lock(&mutex), waits < THREADS) {
		pthread_mutex_unlock(&mutex);
		usleep(100);
	}
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < FORKS; i++)
		forks(i % 10 == 0);
	/* The forking thread may own a mutex that no handler knows. */
	DUE(pthread_mutex_lock(&other), 0);
	begin(&waits_for_other, takes_other, NULL);
	/* A thread that comes later waits in no queue yet: then this shows less, and fails nothing. */
	usleep(20000);
	if (!fork()) {
		alarm(10);
		if (fork()) {
			DUE(wait(&status) > 0, 1);
			DUE(status, 0);
			unlocks_in_child();
		} else {
			/* Nobody enters before the mutex ends. */
			DUE(pthread_mutex_destroy(&other), EBUSY);
			DUE(pthread_mutex_unlock(&other), 0);
			if (getenv("HANDOVER_LOCK"))
				DUE(pthread_mutex_unlock(&other), EPERM);
			DUE(pthread_mutex_destroy(&other), 0);
			exit(0);
		}
		in_child();
		exit(0);
	}
	DUE(wait(&status) > 0, 1);
	DUE(status, 0);
	DUE(pthread_mutex_unlock(&other), 0);
	end(waits_for_other);
	pthread_mutex_lock(&mutex);
	stop = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < 2 * THREADS; i++)
		end(threads[i]);
	return tell(0, 0);
}
