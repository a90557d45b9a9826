// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/*
 * Two threads take turns, by a condition variable. The first to have the mutex has the second turn, so it waits.
 */
#include "due.h"

#ifndef TURNS
#define TURNS 1000
#endif

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int turn;

/* The caller has the mutex, and releases it here. */
static void take_turn(int odd)
{
	while (turn % 2 != odd)
		pthread_cond_wait(&cond, &mutex);
	turn++;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
}

static void *even_turns(void *unused)
{
	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&mutex);
		take_turn(0);
	}
	return unused;
}

int main(void)
{
	pthread_t other;

	pthread_mutex_lock(&mutex);
	begin(&other, even_turns, NULL);
	take_turn(1);
	for (int i = 1; i < TURNS; i++) {
		pthread_mutex_lock(&mutex);
		take_turn(1);
	}
	end(other);
	DUE(turn, 2 * TURNS);
	return tell(0, 0);
}
