// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/*
 * Mutexes whose holds and gaps the program times itself, from within and from without. Prints for each: how often it was
 * acquired, how often with an owner, and the bounds of the sums of its holds and of its gaps.
 */
#include "due.h"
#include <dlfcn.h>

enum { SECTIONS = 50 };

struct times {
	long long calls, contended, gaps, hold_low, hold_high, gap_low, gap_high, before, after;
};

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* A call was made between the two times, and acquired. `gap`: the thread has released the mutex before. */
static void acquires(struct times *times, long long from, long long to, int gap)
{
	times->calls++;
	if (gap) {
		times->gaps++;
		times->gap_low += from - times->after;
		times->gap_high += to - times->before;
	}
	times->hold_low -= to;
	times->hold_high -= from;
}

/* The mutex was released between the two times. */
static void releases(struct times *times, long long from, long long to)
{
	times->hold_low += from;
	times->hold_high += to;
	times->before = from;
	times->after = to;
}

static void tells(const char *name, const void *at, const struct times *t)
{
	printf("%s at=%llu calls=%lld contended=%lld gaps=%lld ", name, (unsigned long long)at, t->calls, t->contended,
	       t->gaps);
	printf("hold_low=%lld hold_high=%lld gap_low=%lld gap_high=%lld\n", t->hold_low, t->hold_high, t->gap_low,
	       t->gap_high);
}

/* Of each kind of place: a symbol of the program, one that no other file sees, far within an object, on the heap. */
pthread_mutex_t used_most = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t hidden = PTHREAD_MUTEX_INITIALIZER;
static struct {
	char first[1 << 20];
	pthread_mutex_t mutex;
} within;

static struct times of_most, of_hidden, of_within, of_heap, of_other;

static void sections(pthread_mutex_t *mutex, struct times *times, int count, int hold_us, int gap_us)
{
	for (int i = 0; i < count; i++) {
		long long from = now(), to;

		if (i % 3 == 1) {
			DUE(pthread_mutex_trylock(mutex), 0);
		} else if (i % 3 == 2) {
			struct timespec limit = in_ms(CLOCK_REALTIME, 1000);

			DUE(pthread_mutex_timedlock(mutex, &limit), 0);
		} else {
			DUE(pthread_mutex_lock(mutex), 0);
		}
		to = now();
		acquires(times, from, to, i > 0);
		usleep(hold_us);
		from = now();
		DUE(pthread_mutex_unlock(mutex), 0);
		releases(times, from, now());
		usleep(gap_us);
	}
}

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int is_signalled;
static long long other_has_it, other_gives_it;

/* Takes the mutex as soon as it is free, keeps it for a while, then signals. */
static void *signals(void *unused)
{
	long long from, to;

	do {
		usleep(100);
		from = now();
	} while (pthread_mutex_trylock(&hidden) == EBUSY);
	to = now();
	acquires(&of_hidden, from, to, 0);
	other_has_it = to;
	usleep(50000);
	is_signalled = 1;
	other_gives_it = from = now();
	DUE(pthread_mutex_unlock(&hidden), 0);
	releases(&of_hidden, from, now());
	DUE(pthread_cond_signal(&cond), 0);
	return unused;
}

/* A wait is neither hold nor gap. While it lasts another thread has the mutex. */
static void waits(void)
{
	pthread_t other;
	long long from = now(), to;

	DUE(pthread_mutex_lock(&hidden), 0);
	to = now();
	acquires(&of_hidden, from, to, 0);
	begin(&other, signals, NULL);
	from = now();
	DUE(pthread_cond_wait(&cond, &hidden), 0);
	to = now();
	DUE(is_signalled, 1);
	releases(&of_hidden, from, other_has_it);
	acquires(&of_hidden, other_gives_it, to, 0);
	from = now();
	DUE(pthread_mutex_unlock(&hidden), 0);
	releases(&of_hidden, from, now());
	end(other);
}

static atomic_int comes;

static void *queues(void *mutex)
{
	comes = 1;
	DUE(pthread_mutex_lock(mutex), 0);
	DUE(pthread_mutex_unlock(mutex), 0);
	return NULL;
}

/* Another thread waits for a mutex whose owner sleeps: its wait is no hold. */
static void contends(void)
{
	pthread_t other;
	long long from = now(), to, over;

	DUE(pthread_mutex_lock(&within.mutex), 0);
	to = now();
	acquires(&of_within, from, to, 0);
	begin(&other, queues, &within.mutex);
	while (!comes)
		usleep(100);
	usleep(50000);
	from = now();
	DUE(pthread_mutex_unlock(&within.mutex), 0);
	to = now();
	releases(&of_within, from, to);
	end(other);
	over = now();
	of_within.calls++;
	of_within.contended++;
	of_within.hold_high += over - from;
}

int main(int count, char **words)
{
	pthread_mutex_t *heap = malloc(sizeof(*heap));
	pid_t parent = getpid();

	alarm(60);
	/* A child of a fork has no table, also if it ends last. */
	if (!fork()) {
		while (getppid() == parent)
			usleep(1000);
		DUE(pthread_mutex_lock(&hidden), 0);
		DUE(pthread_mutex_unlock(&hidden), 0);
		return 0;
	}
	DUE(pthread_mutex_init(heap, NULL), 0);
	sections(&used_most, &of_most, SECTIONS, 2000, 500);
	sections(heap, &of_heap, 10, 100, 3000);
	waits();
	contends();
	if (count > 1) {
		void *library = dlopen(words[1], RTLD_NOW);
		pthread_mutex_t *other = library ? dlsym(library, "of_a_library") : NULL;

		DUE(!!other, 1);
		sections(other, &of_other, 2, 0, 0);
		tells("of_a_library", other, &of_other);
	}
	tells("used_most", &used_most, &of_most);
	tells("hidden", &hidden, &of_hidden);
	tells("within+0x100000", &within.mutex, &of_within);
	tells("[heap]", heap, &of_heap);
	return 0;
}
