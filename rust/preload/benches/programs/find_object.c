// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/*
 * A mutex around _dl_find_object, by which the unwinder finds a function's object. glibc before 2.35 had a lock of its
 * own there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int (*next)(void *address, struct dl_find_object *result);

__attribute__((constructor)) static void at_load(void)
{
	next = (int (*)(void *, struct dl_find_object *))dlsym(RTLD_NEXT, "_dl_find_object");
}

int _dl_find_object(void *address, struct dl_find_object *result)
{
	int found;

	pthread_mutex_lock(&mutex);
	found = next(address, result);
	pthread_mutex_unlock(&mutex);
	return found;
}
