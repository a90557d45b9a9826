/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * What C and C++ test alike: NAME is one of the two locks. Threads are more than CPUs, so that some sleep.
 */
#include <handover.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 8
#define SECTIONS 5000L

#define CHECK(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
			exit(1); \
		} \
	} while (0)

#define TESTS(NAME, INIT) \
	static struct NAME NAME##_static = INIT; \
	struct NAME##_shared { \
		struct NAME lock; \
		long count, tried; \
	}; \
	\
	/* Every fifth section by try_lock, where that succeeds. */ \
	static void *NAME##_count(void *of) \
	{ \
		struct NAME##_shared *shared = (struct NAME##_shared *)of; \
		long section; \
	\
		for (section = 0; section < SECTIONS; section++) { \
			if (section % 5 == 0 && NAME##_try_lock(&shared->lock)) \
				shared->tried++; \
			else \
				NAME##_lock(&shared->lock); \
			shared->count++; \
			if (section % 1000 == 0) \
				sched_yield(); \
			NAME##_unlock(&shared->lock); \
		} \
		return NULL; \
	} \
	\
	static void NAME##_tests(void) \
	{ \
		struct NAME##_shared *shared = (struct NAME##_shared *)calloc(1, sizeof(*shared)); \
		pthread_t threads[THREADS]; \
		struct NAME one = INIT, zero; \
		long turn; \
		int i; \
	\
		CHECK(shared); \
		memset(&zero, 0, sizeof(zero)); \
		CHECK(memcmp(&one, &zero, sizeof(one)) == 0); \
		/* More often than the one word has tickets. */ \
		for (turn = 0; turn < 70000; turn++) { \
			CHECK(!NAME##_is_locked(&NAME##_static)); \
			CHECK(NAME##_try_lock(&NAME##_static)); \
			CHECK(NAME##_is_locked(&NAME##_static)); \
			CHECK(!NAME##_try_lock(&NAME##_static)); \
			NAME##_unlock(&NAME##_static); \
			NAME##_lock(&NAME##_static); \
			CHECK(!NAME##_try_lock(&NAME##_static)); \
			NAME##_unlock(&NAME##_static); \
		} \
		for (i = 0; i < THREADS; i++) \
			CHECK(pthread_create(&threads[i], NULL, NAME##_count, shared) == 0); \
		for (i = 0; i < THREADS; i++) \
			CHECK(pthread_join(threads[i], NULL) == 0); \
		CHECK(shared->count == THREADS * SECTIONS); \
		CHECK(!NAME##_is_locked(&shared->lock)); \
		printf("%s: %ld sections, %s\n", #NAME, shared->count, shared->tried ? "some tried" : "none tried"); \
		/* The header's numbers; the library's own are asserted where it is compiled. */ \
		CHECK(sizeof(struct NAME) == (strstr(#NAME, "one_word") ? 4 : 8)); \
		free(shared); \
	}

TESTS(handover_twa, HANDOVER_TWA_INIT)
TESTS(handover_one_word_twa, HANDOVER_ONE_WORD_TWA_INIT)

int main(void)
{
	CHECK(handover_register_barrier() == handover_register_barrier());
	handover_twa_tests();
	handover_one_word_twa_tests();
	return 0;
}
