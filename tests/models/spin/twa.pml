/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The locks that give out tickets, as rust/locks has them: the ticket lock, TWA, and TWA in one word. tests/suites/spin
 * says which settings are run and what each must show.
 *
 * One access to a word is one step, and all are sequentially consistent: the orderings are for loom and herd7. A thread
 * draws, enters, leaves, and begins again or never comes back. Other locks notify the slots at any time, for ever or
 * not.
 *
 * Settings: THREADS, TICKETS (they wrap), SLOTS (powers of two).
 * THRESHOLD  who has more tickets before it waits on a slot; without it all wait for the grant (the ticket lock)
 * ONE_WORD   ticket and grant are the halves of a word
 * TRY        an acquisition may be a try, with ONE_WORD: with two words a try may be deceived once all tickets were used
 * WATCH=i    thread i enters some day once it has drawn
 * UNORDERED  neither the order of entry nor a deadlock is looked at, only whether two are inside
 */
#ifndef THREADS
#define THREADS 3
#endif
#ifndef TICKETS
#define TICKETS 4
#endif
#ifndef SLOTS
#define SLOTS 2
#endif

#define LOW(x) ((x) & (TICKETS - 1))

/* The lock. */
#ifdef ONE_WORD
byte word;
#define WORD(x) ((x) & (TICKETS * TICKETS - 1))
#define NEXT_OF(x) ((x) / TICKETS)
#define GRANT LOW(word)
#else
byte ticket, grant;
#define GRANT grant
#endif
#define AHEAD(ticket) LOW((ticket) - GRANT)

/*
 * A slot counts, and 32 bits do not come round between two looks of a thread. So what is kept is how far it went since
 * each thread looked, and no more of it than matters.
 */
#define MOST 1
#define SLOT(ticket) ((ticket) & (SLOTS - 1))
byte looks_at[THREADS + 1];
byte since[THREADS + 1];

/* What the properties are about. */
byte inside;             /* threads in the critical section */
bool drawn[THREADS + 1]; /* the thread has a ticket, and has not entered */
byte before[THREADS + 1]; /* of those that have drawn before it, how many have not entered */

#ifdef WATCH
ltl enters { [] (drawn[WATCH] -> <> !drawn[WATCH]) }
#endif

inline has_drawn() {
	drawn[me] = true;
	before[me] = 0;
	other = 1;
	do
	:: other <= THREADS -> before[me] = before[me] + (other != me && drawn[other]); other++
	:: else -> break
	od;
	other = 0
}

inline comes_in() {
	drawn[me] = false;
	inside++;
	assert(inside == 1);
#ifndef UNORDERED
	assert(before[me] == 0);
#endif
	other = 1;
	do
	:: other <= THREADS -> before[other] = (drawn[other] && before[other] > 0 -> before[other] - 1 : before[other]); other++
	:: else -> break
	od;
	other = 0
}

inline notify(slot) {
	d_step {
		other = 1;
		do
		:: other <= THREADS ->
			since[other] = (looks_at[other] == slot && since[other] < MOST -> since[other] + 1 : since[other]);
			other++
		:: else -> break
		od;
		other = 0
	}
}

inline look_at_slot() {
	d_step { looks_at[me] = SLOT(mine); since[me] = 0 }
}

/* Until no more than THRESHOLD tickets are before it. */
inline wait_long_term() {
	do
	:: look_at_slot();
		if
		:: d_step { AHEAD(mine) <= THRESHOLD -> looks_at[me] = SLOTS; since[me] = 0 }; break
		:: else
		fi;
		(since[me] != 0)
	od
}

inline lock() {
#ifdef ONE_WORD
	d_step { mine = NEXT_OF(word); ahead = AHEAD(mine); word = WORD(word + TICKETS); has_drawn() }
#else
	d_step { mine = ticket; ticket = LOW(ticket + 1); has_drawn() }
	ahead = AHEAD(mine);
#endif
	if
	:: ahead != 0 ->
#ifdef THRESHOLD
		if
		:: ahead > THRESHOLD -> wait_long_term()
		:: else
		fi;
#endif
		(GRANT == mine)
	:: else
	fi;
	ahead = 0
}

#ifdef TRY
/* A look that finds the lock owned leads nowhere, and is left out. */
inline try() {
	d_step { NEXT_OF(word) == GRANT -> seen = word }
	if
	:: d_step { word == seen -> mine = NEXT_OF(word); word = WORD(word + TICKETS); has_drawn() }; owns = true
	:: d_step { word != seen -> owns = false }
	fi;
	seen = 0
}
#endif

inline unlock() {
#ifdef ONE_WORD
	/* At the grant's wrap the carry goes into the ticket, and the step takes it out again. */
	d_step {
		ahead = LOW(NEXT_OF(word) - mine);
		word = WORD(word + (mine == TICKETS - 1 -> 1 - TICKETS : 1))
	}
#ifdef THRESHOLD
	if
	:: ahead > THRESHOLD + 1 -> notify(SLOT(mine + 1 + THRESHOLD))
	:: else
	fi;
#endif
#else
	grant = LOW(mine + 1);
#ifdef THRESHOLD
	notify(SLOT(mine + 1 + THRESHOLD));
#endif
#endif
	d_step { mine = 0; ahead = 0 }
}

proctype thread(byte me) {
	byte mine, ahead, other;
#ifdef TRY
	byte seen;
	bool owns;
#endif
	do
	:: lock();
		d_step { comes_in() }
		inside--;
		unlock()
#ifdef TRY
	:: try();
		if
		:: owns ->
			owns = false;
			d_step { comes_in() }
			inside--;
			unlock()
		:: else
		fi
#endif
	:: break
	od
}

#ifdef THRESHOLD
/* Other locks. They may cease, so that nobody is woken by chance. */
proctype noise() {
	byte other;
	do
	:: notify(0)
#if SLOTS > 1
	:: notify(1)
#endif
	:: break
	od
}
#endif

init {
	byte i = 1;
	atomic {
		do
		:: i <= THREADS ->
			looks_at[i] = SLOTS;
			run thread(i);
			i++
		:: else -> break
		od;
#ifdef THRESHOLD
		run noise();
#endif
		i = 0
	}
}
