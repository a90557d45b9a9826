// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/* A library that has a mutex. */
#include <pthread.h>

pthread_mutex_t of_a_library = PTHREAD_MUTEX_INITIALIZER;
