// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/* Two threads take turns, by a condition variable. */
#include "due.h"

enum { TURNS = 1000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int turn;

static void *takes_turns(void *odd)
{
	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&mutex);
		while (turn % 2 != !!odd)
			pthread_cond_wait(&cond, &mutex);
		turn++;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

int main(void)
{
	pthread_t other;

	begin(&other, takes_turns, &turn);
	takes_turns(NULL);
	end(other);
	DUE(turn, 2 * TURNS);
	return tell(0, 0);
}
