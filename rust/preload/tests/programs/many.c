// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/* More mutexes than the table of a profile has places. */
#include "due.h"

enum { ALL = 20000, MORE = 99 };

int main(void)
{
	static pthread_mutex_t mutexes[ALL];

	alarm(60);
	/* From the last one, so that the order of the calls is not that of the addresses. */
	for (int i = ALL - 1; i >= 0; i--)
		for (int times = i >= ALL - MORE ? 11 : 1; times; times--) {
			DUE(pthread_mutex_lock(&mutexes[i]), 0);
			DUE(pthread_mutex_unlock(&mutexes[i]), 0);
		}
	return tell(0, 0);
}
