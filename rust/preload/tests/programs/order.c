// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/* Threads queue up one after another behind an owner. FIFO locks admit them in that order; who parks needs no CPU. */
#include "due.h"
#include <sys/resource.h>

enum { THREADS = 12 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int order[THREADS], entered;
static atomic_int queued;

static void *enters(void *number)
{
	queued = gettid();
	pthread_mutex_lock(&mutex);
	order[entered++] = (long)number;
	pthread_mutex_unlock(&mutex);
	return NULL;
}

/* Until the thread has come to its lock, and waits there: it sleeps, or has computed for a millisecond. */
static void until_it_waits(pthread_t thread)
{
	clockid_t clock;

	DUE(pthread_getcpuclockid(thread, &clock), 0);
	for (;;) {
		struct timespec used;
		char name[64], state = 0;
		int tid = queued;
		FILE *stat;

		clock_gettime(clock, &used);
		snprintf(name, sizeof(name), "/proc/self/task/%d/stat", tid);
		stat = tid ? fopen(name, "r") : NULL;
		if (stat) {
			if (fscanf(stat, "%*d %*s %c", &state) != 1)
				state = 0;
			fclose(stat);
		}
		if (tid && (state == 'S' || used.tv_nsec > 1000000 || used.tv_sec))
			break;
		usleep(100);
	}
	queued = 0;
}

static long cpu_ms(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
}

int main(void)
{
	const char *lock = getenv("HANDOVER_LOCK"), *wait = getenv("HANDOVER_WAIT");
	pthread_t threads[THREADS];
	long from, used;

	alarm(60);
	/* The lock's words after five uses: a ticket lock counts them. */
	for (int i = 0; i < 5; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	if (lock) {
		unsigned int words[2];

		memcpy(words, &mutex, sizeof(words));
		if (!strcmp(lock, "ticket") || !strcmp(lock, "twa")) {
			DUE(words[0], 5);
			DUE(words[1], 5);
		} else if (!strcmp(lock, "one-word-twa")) {
			DUE(words[0], 5 << 16 | 5);
			DUE(words[1], 0);
		} else {
			DUE(words[0], 0);
			DUE(words[1], 0);
		}
	}

	pthread_mutex_lock(&mutex);
	for (long i = 0; i < THREADS; i++) {
		begin(&threads[i], enters, (void *)i);
		until_it_waits(threads[i]);
	}
	from = cpu_ms();
	usleep(200000);
	used = cpu_ms() - from;
	/* Who does not park computes, but a busy machine may give it no CPU for a while. */
	for (int i = 0; wait && strcmp(wait, "park") && used <= 40 && i < 100; i++) {
		usleep(200000);
		used = cpu_ms() - from;
	}
	DUE(entered, 0);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < THREADS; i++)
		end(threads[i]);
	DUE(entered, THREADS);
	if (lock && strcmp(lock, "ttas"))
		for (int i = 0; i < THREADS; i++)
			DUE(order[i], i);
	/* 12 threads wait for 200 ms or more on as many CPUs as there are. */
	if (!wait || !strcmp(wait, "park"))
		DUE(used < 40, 1);
	else
		DUE(used > 40, 1);
	printf("contended=%d ", THREADS);
	return tell(0, 0);
}
