// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/* The control: loaded before libhandover.so, it gives the condition variables back to glibc. The mutexes alone are replaced. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static void *of_glibc(const char *name, const char *version)
{
	void *library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	void *found = library ? dlvsym(library, name, version) : NULL;

	if (!found)
		abort();
	return found;
}

int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attributes)
{
	__typeof__(pthread_cond_init) *real = of_glibc("pthread_cond_init", "GLIBC_2.3.2");

	return real(cond, attributes);
}

int pthread_cond_destroy(pthread_cond_t *cond)
{
	__typeof__(pthread_cond_destroy) *real = of_glibc("pthread_cond_destroy", "GLIBC_2.3.2");

	return real(cond);
}

int pthread_cond_signal(pthread_cond_t *cond)
{
	__typeof__(pthread_cond_signal) *real = of_glibc("pthread_cond_signal", "GLIBC_2.3.2");

	return real(cond);
}

int pthread_cond_broadcast(pthread_cond_t *cond)
{
	__typeof__(pthread_cond_broadcast) *real = of_glibc("pthread_cond_broadcast", "GLIBC_2.3.2");

	return real(cond);
}

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	__typeof__(pthread_cond_wait) *real = of_glibc("pthread_cond_wait", "GLIBC_2.3.2");

	return real(cond, mutex);
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *limit)
{
	__typeof__(pthread_cond_timedwait) *real = of_glibc("pthread_cond_timedwait", "GLIBC_2.3.2");

	return real(cond, mutex, limit);
}

int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			   clockid_t clock, const struct timespec *limit)
{
	__typeof__(pthread_cond_clockwait) *real = of_glibc("pthread_cond_clockwait", "GLIBC_2.34");

	return real(cond, mutex, clock, limit);
}
