// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/* A library whose constructor has mutexes and condition variables, before that of libhandover.so has run; and the program. */
#include "due.h"

#ifdef LIBRARY
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void calls_first(void)
{
	pthread_condattr_t attributes;
	pthread_cond_t shared, own = PTHREAD_COND_INITIALIZER;

	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	DUE(pthread_cond_signal(&own), 0);
	pthread_condattr_init(&attributes);
	pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	DUE(pthread_cond_init(&shared, &attributes), 0);
	DUE((pthread_cond_broadcast)(&shared), 0);
	DUE(pthread_cond_destroy(&shared), 0);
}

int tells(void)
{
	return tell(0, 2);
}
#else
extern int tells(void);

int main(void)
{
	return tells();
}
#endif
