/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * FIFO locks for the threads of one process: TWA, and TWA in four bytes.
 *
 *	static struct handover_twa lock = HANDOVER_TWA_INIT;
 *
 *	handover_twa_lock(&lock);
 *	...
 *	handover_twa_unlock(&lock);
 *
 * Compile and link by `pkg-config --cflags --libs handover-locks`. C11 or C++11, Linux 4.14 or newer.
 *
 * Promises
 *	Threads enter in the order in which they came. The unlocking thread hands over to the one that waits longest.
 *	What an owner wrote is seen by the next one. After its last access to a lock `unlock` does not touch it. So the
 *	next owner may free it.
 *	A lock in which all bytes are 0 is free. It needs no destruction. It lies anywhere in memory of one process, and
 *	may be moved while nobody owns it or waits for it.
 *
 * Costs
 *	A lock nobody wants: two locked instructions a pair. Others wait by looking
 *	700 times, or longer where each has a CPU, then asleep in the kernel.
 *	All locks of the process share one array of 16 KiB. There is no allocation.
 *	A FIFO lock waits for the one thread whose turn it is. Where threads are more than CPUs it is slower than a mutex
 *	that lets others pass.
 *
 * Errors
 *	None is returned. What is wrong is undefined: to unlock a lock that the caller does not own, to lock it twice, to
 *	share it with another process. A child of fork() may not use a lock for which threads of its parent waited.
 *	One-word TWA has room for an owner and 65,534 waiters. One more ends the program.
 *
 * Source
 *	Dice and Kogan, "TWA: Ticket Locks Augmented with a Waiting Array", Listing 1.1. The one word is ours.
 */
#ifndef HANDOVER_H
#define HANDOVER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define HANDOVER_ASSERT static_assert
#define HANDOVER_ALIGNOF alignof
#else
#define HANDOVER_ASSERT _Static_assert
#define HANDOVER_ALIGNOF _Alignof
#endif

/* TWA, of eight bytes. The members are the library's. */
struct handover_twa {
	uint32_t ticket;
	uint32_t grant;
};

/* One-word TWA, of four bytes. The member is the library's. */
struct handover_one_word_twa {
	uint32_t word;
};

/* A free lock, for a static or automatic variable. */
#define HANDOVER_TWA_INIT { 0, 0 }
#define HANDOVER_ONE_WORD_TWA_INIT { 0 }

HANDOVER_ASSERT(sizeof(struct handover_twa) == 8, "handover.h: the size of struct handover_twa");
HANDOVER_ASSERT(HANDOVER_ALIGNOF(struct handover_twa) == 4, "handover.h: its alignment");
HANDOVER_ASSERT(sizeof(struct handover_one_word_twa) == 4, "handover.h: the size of struct handover_one_word_twa");
HANDOVER_ASSERT(HANDOVER_ALIGNOF(struct handover_one_word_twa) == 4, "handover.h: its alignment");

/* Acquires, and waits as long as it takes. */
void handover_twa_lock(struct handover_twa *lock);
void handover_one_word_twa_lock(struct handover_one_word_twa *lock);

/* Acquires if nobody owns the lock or waits for it; says whether it did. Never waits. */
bool handover_twa_try_lock(struct handover_twa *lock);
bool handover_one_word_twa_try_lock(struct handover_one_word_twa *lock);

/* Releases, and hands over to the thread that waits longest. The caller is the owner. */
void handover_twa_unlock(struct handover_twa *lock);
void handover_one_word_twa_unlock(struct handover_one_word_twa *lock);

/* Whether somebody owns the lock at some moment during the call. It is another's by the time that the caller knows. */
bool handover_twa_is_locked(const struct handover_twa *lock);
bool handover_one_word_twa_is_locked(const struct handover_one_word_twa *lock);

/*
 * Asks the kernel, by membarrier(2), to order what releases and sleepers do, so that a release of TWA needs no full
 * barrier of its own. Says whether the kernel grants it; that stays for the life of the process and of its children.
 * The first release asks otherwise, which takes some milliseconds in a process that has threads. So call it at the
 * program's start, or not at all.
 */
bool handover_register_barrier(void);

#undef HANDOVER_ASSERT
#undef HANDOVER_ALIGNOF

#ifdef __cplusplus
}
#endif

#endif
