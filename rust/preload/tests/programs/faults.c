// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/* What happens to a mutex at its worst moments: tickets wrap, its last user frees it, a waiter is cancelled, its owner is gone. */
#include "due.h"

enum { THREADS = 4, SECTIONS = 2000, BEFORE = 100, OBJECTS = 2000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long count;

static void *increments(void *unused)
{
	for (int i = 0; i < SECTIONS; i++) {
		DUE(pthread_mutex_lock(&mutex), 0);
		count++;
		DUE(pthread_mutex_unlock(&mutex), 0);
	}
	return unused;
}

/* The lock's next ticket, as the mutex's bytes have it; or that it has none. */
static int next_ticket(unsigned int *ticket, int sets)
{
	const char *lock = getenv("HANDOVER_LOCK");
	unsigned int words[2];

	memcpy(words, &mutex, sizeof(words));
	if (lock && (!strcmp(lock, "ticket") || !strcmp(lock, "twa"))) {
		if (sets)
			words[0] = words[1] = *ticket;
		*ticket = words[0];
	} else if (lock && !strcmp(lock, "one-word-twa")) {
		if (sets)
			words[0] = *ticket << 16 | (*ticket & 0xffff);
		*ticket = (int)words[0] >> 16;
	} else {
		return 0;
	}
	memcpy(&mutex, words, sizeof(words));
	return 1;
}

/* The tickets are about to wrap. No update is lost, and they are as many as the sections. */
static void wrap(void)
{
	pthread_t threads[THREADS];
	unsigned int ticket = -BEFORE;

	if (!next_ticket(&ticket, 1))
		return;
	for (int i = 0; i < THREADS; i++)
		begin(&threads[i], increments, NULL);
	for (int i = 0; i < THREADS; i++)
		end(threads[i]);
	DUE(count, THREADS * SECTIONS);
	next_ticket(&ticket, 0);
	DUE(ticket, THREADS * SECTIONS - BEFORE);
}

struct object {
	pthread_mutex_t mutex;
	int users;
};

/* The last user destroys the object and writes over it. The one before may not have returned from its release. */
static void *uses(void *argument)
{
	struct object *object = argument;
	int users;

	DUE(pthread_mutex_lock(&object->mutex), 0);
	users = --object->users;
	DUE(pthread_mutex_unlock(&object->mutex), 0);
	if (!users) {
		DUE(pthread_mutex_destroy(&object->mutex), 0);
		memset(object, 0xa5, sizeof(*object));
	}
	return NULL;
}

static void last_user(void)
{
	for (int i = 0; i < OBJECTS; i++) {
		struct object *object = calloc(1, sizeof(*object));
		pthread_t threads[2];

		object->users = 3;
		DUE(pthread_mutex_lock(&object->mutex), 0);
		begin(&threads[0], uses, object);
		begin(&threads[1], uses, object);
		if (i % 4 == 0)
			usleep(100);
		DUE(pthread_mutex_unlock(&object->mutex), 0);
		uses(object);
		end(threads[0]);
		end(threads[1]);
		for (size_t byte = 0; byte < sizeof(*object); byte++)
			DUE(((unsigned char *)object)[byte], 0xa5);
		free(object);
	}
}

static atomic_int comes, entered;

static void *is_cancelled(void *unused)
{
	comes++;
	DUE(pthread_mutex_lock(&mutex), 0);
	entered++;
	DUE(pthread_mutex_unlock(&mutex), 0);
	pthread_testcancel();
	DUE(1, 0);
	return unused;
}

/* A mutex is no place where a thread is cancelled: it waits, enters, releases, and is cancelled afterwards. */
static void cancellation(void)
{
	pthread_t threads[THREADS];

	DUE(pthread_mutex_lock(&mutex), 0);
	for (int i = 0; i < THREADS; i++)
		begin(&threads[i], is_cancelled, NULL);
	while (comes < THREADS)
		usleep(100);
	usleep(5000);
	for (int i = 0; i < THREADS; i++)
		DUE(pthread_cancel(threads[i]), 0);
	usleep(5000);
	DUE(entered, 0);
	DUE(pthread_mutex_unlock(&mutex), 0);
	for (int i = 0; i < THREADS; i++)
		DUE(end(threads[i]) == PTHREAD_CANCELED, 1);
	DUE(entered, THREADS);
}

static atomic_int owns;

static void *owns_for_a_while(void *unused)
{
	DUE(pthread_mutex_lock(&mutex), 0);
	owns = 1;
	while (owns)
		usleep(100);
	DUE(pthread_mutex_unlock(&mutex), 0);
	return unused;
}

/* A fork while another thread owns and others wait: in the child there are none of them. It makes the mutex anew. */
static void fork_without_the_owner(void)
{
	pthread_t threads[THREADS + 1];
	int status;
	pid_t child;

	begin(&threads[THREADS], owns_for_a_while, NULL);
	while (!owns)
		usleep(100);
	count = 0;
	for (int i = 0; i < THREADS; i++)
		begin(&threads[i], increments, NULL);
	usleep(5000);
	child = fork();
	if (!child) {
		alarm(20);
		DUE(pthread_mutex_trylock(&mutex), EBUSY);
		DUE(pthread_mutex_init(&mutex, NULL), 0);
		for (int i = 0; i < THREADS; i++)
			begin(&threads[i], increments, NULL);
		for (int i = 0; i < THREADS; i++)
			end(threads[i]);
		DUE(count, THREADS * SECTIONS);
		exit(0);
	}
	DUE(waitpid(child, &status, 0), child);
	DUE(status, 0);
	owns = 0;
	for (int i = 0; i <= THREADS; i++)
		end(threads[i]);
	DUE(count, THREADS * SECTIONS);
}

int main(void)
{
	alarm(30);
	wrap();
	last_user();
	cancellation();
	fork_without_the_owner();
	return tell(0, 0);
}
