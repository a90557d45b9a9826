// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/* 10,000 threads begin and end, some of which are cancelled; the owner is stopped and goes on. */
#include "due.h"
#include <signal.h>

enum { ALL = 10000, TOGETHER = 50 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static long count, cancelled;

static void gives_back(void *unused)
{
	(void)unused;
	cancelled++;
	pthread_mutex_unlock(&mutex);
}

static void *lives_shortly(void *waits)
{
	pthread_mutex_lock(&mutex);
	count++;
	if (waits) {
		pthread_cleanup_push(gives_back, NULL);
		for (;;)
			pthread_cond_wait(&never, &mutex);
		pthread_cleanup_pop(0);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

int main(void)
{
	pthread_t threads[TOGETHER];
	int status;
	pid_t child;

	alarm(30);
	for (int i = 0; i < ALL; i += TOGETHER) {
		for (long t = 0; t < TOGETHER; t++)
			begin(&threads[t], lives_shortly, (void *)(long)(t % 10 == 0));
		for (int t = 0; t < TOGETHER; t += 10)
			DUE(pthread_cancel(threads[t]), 0);
		for (int t = 0; t < TOGETHER; t++)
			end(threads[t]);
	}
	/* A cancelled thread may not have come as far as to wait; cancellation points there are no others. */
	DUE(cancelled, ALL / 10);
	DUE(count, ALL);

	child = fork();
	if (!child) {
		for (int i = 0; i < TOGETHER; i++)
			begin(&threads[i], lives_shortly, NULL);
		pthread_mutex_lock(&mutex);
		raise(SIGSTOP);
		pthread_mutex_unlock(&mutex);
		for (int i = 0; i < TOGETHER; i++)
			end(threads[i]);
		DUE(count, ALL + TOGETHER);
		exit(0);
	}
	DUE(waitpid(child, &status, WUNTRACED), child);
	DUE(WIFSTOPPED(status), 1);
	usleep(50000);
	DUE(kill(child, SIGCONT), 0);
	DUE(waitpid(child, &status, 0), child);
	DUE(status, 0);
	/* The statistics tell of the lock that was used, without the environment too. */
	clearenv();
	return tell(0, 0);
}
