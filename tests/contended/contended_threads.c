// SPDX-License-Identifier: GPL-2.0-only
/* Threads that call contended_once() until the module goes. */
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/sched.h>

#include "contended_threads.h"

#define THREADS 3

static struct task_struct *threads[THREADS];

static int contend(void *unused)
{
	while (!kthread_should_stop()) {
		contended_once();
		cond_resched();
	}
	return 0;
}

int contended_start(void)
{
	int i;

	for (i = 0; i < THREADS; i++) {
		threads[i] = kthread_run(contend, NULL, "contended/%d", i);
		if (IS_ERR(threads[i])) {
			int error = PTR_ERR(threads[i]);

			threads[i] = NULL;
			contended_stop();
			return error;
		}
	}
	return 0;
}

void contended_stop(void)
{
	int i;

	for (i = 0; i < THREADS; i++) {
		if (threads[i])
			kthread_stop(threads[i]);
		threads[i] = NULL;
	}
}
