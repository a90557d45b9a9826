// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/*
 * The control: mutexes are replaced, and condition variables stay with glibc. They release the mutex within glibc, which
 * knows nothing of the lock in it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static int of_handover(pthread_mutex_t *mutex, const char *name)
{
	void *library = dlopen(getenv("LIBRARY"), RTLD_NOW | RTLD_LOCAL);

	return ((int (*)(pthread_mutex_t *))dlsym(library, name))(mutex);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	return of_handover(mutex, "pthread_mutex_lock");
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	return of_handover(mutex, "pthread_mutex_trylock");
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	return of_handover(mutex, "pthread_mutex_unlock");
}

int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	return of_handover(mutex, "pthread_mutex_destroy");
}
