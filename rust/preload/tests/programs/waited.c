// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/* A thread waits for 300 ms, less the moment in which it comes. Then the process forks, and in the child nobody waits. */
#include "due.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int comes;

static void *waits(void *unused)
{
	comes = 1;
	DUE(pthread_mutex_lock(&mutex), 0);
	DUE(pthread_mutex_unlock(&mutex), 0);
	return unused;
}

int main(void)
{
	pthread_t thread;
	int status;
	pid_t child;

	DUE(pthread_mutex_lock(&mutex), 0);
	DUE(pthread_create(&thread, NULL, waits, NULL), 0);
	while (!comes)
		usleep(1000);
	usleep(300000);
	DUE(pthread_mutex_unlock(&mutex), 0);
	DUE(pthread_join(thread, NULL), 0);
	child = fork();
	if (!child) {
		DUE(pthread_mutex_lock(&mutex), 0);
		DUE(pthread_mutex_unlock(&mutex), 0);
		return 0;
	}
	DUE(waitpid(child, &status, 0), child);
	DUE(status, 0);
	return 0;
}
