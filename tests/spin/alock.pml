/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ALock, as the crate implements it: an MCS queue with a budget for each cohort (threads that reach the lock by CPU
 * accesses, threads that reach it over the wire), and Peterson's algorithm between the two queues' leaders, with the
 * tails as its flags. scripts/test-spin says which settings are run and what each must show.
 *
 * What one step is. A CPU's CAS and swap are one step, as are 8-byte reads and writes of both kinds. A remote CAS is two:
 * a read and, if it succeeds, a later write; CPU accesses fall between them (the paper's Table 1), other remote CASes do
 * not (the NIC has one lock). Everything is sequentially consistent here, but for the victim store with TSO; the orderings
 * that the code needs on weaker machines are loom's to check.
 *
 * Settings: NL, NR threads of each cohort; BL, BR their budgets (at least 1).
 * ONE_STEP  a remote thread enqueues by one wait-free swap instead of CAS until it succeeds
 * TRY       an acquisition may be a try: as leader it may withdraw while it waits for the other cohort
 * TSO       a CPU's store to victim stays in its store buffer for a while
 * BYPASS    counts the other cohort's entries while a leader waits; SLACK_L, SLACK_R are taken off what is allowed
 * WATCH=i   thread i, once it is at FROM (WANT: has called lock; QUEUED: is in the queue), enters some day
 */
#ifndef NL
#define NL 2
#endif
#ifndef NR
#define NR 2
#endif
#ifndef BL
#define BL 2
#endif
#ifndef BR
#define BR 3
#endif
#ifndef SLACK_L
#define SLACK_L 0
#endif
#ifndef SLACK_R
#define SLACK_R 0
#endif

#define LOCAL 0
#define REMOTE 1
#define WAITS 255 /* a budget of -1: nobody has handed over yet */

/* The lock. A tail is a thread's number, from 1 (the local ones first), or 0 for null. */
byte tail[2];
bit victim;
#define LTAIL tail[LOCAL]
#define RTAIL tail[REMOTE]

/* The descriptors. Number 0 is none: what is written there is lost. */
byte budget[NL + NR + 1];
byte next[NL + NR + 1];

/*
 * The remote CAS that has read and will write: whose, and what. One that starts while another has yet to write lets
 * that one write first. That is the schedule where it waited for the NIC's lock, without a lock to starve at.
 */
byte nic;
byte nic_new;

byte inside; /* threads in the critical section */

#ifdef TSO
bool stored[NL + NR + 1]; /* victim = LOCAL is in this thread's store buffer */
#define DRAIN if :: stored[me] -> victim = LOCAL; stored[me] = false :: else fi
#define SEES_OTHER_VICTIM (!stored[me] && victim != LOCAL)
#else
#define DRAIN skip
#define SEES_OTHER_VICTIM (victim != LOCAL)
#endif

#ifdef BYPASS
bool waits[2];    /* the cohort's leader has written victim and not entered */
byte bypassed[2]; /* how often the other cohort entered meanwhile */
#define WAITS_FROM_NOW(mine) waits[mine] = true; bypassed[mine] = 0
#define WAITS_NO_MORE(mine) waits[mine] = false; bypassed[mine] = 0
#define ENTERS(mine) \
	WAITS_NO_MORE(mine); \
	if :: waits[1 - mine] -> bypassed[1 - mine]++ :: else fi; \
	assert(bypassed[LOCAL] <= BR - SLACK_R); \
	assert(bypassed[REMOTE] <= BL - SLACK_L)
#else
#define WAITS_FROM_NOW(mine) skip
#define WAITS_NO_MORE(mine) skip
#define ENTERS(mine) skip
#endif

#ifdef WATCH
#define OUT 0
#define WANT 1
#define QUEUED 2
#define IN 3
byte phase[NL + NR + 1];
#define PHASE(p) phase[me] = p
#define MAY_TRY (me != WATCH)
ltl enters { [] (phase[WATCH] == FROM -> <> (phase[WATCH] == IN)) }
#else
#define PHASE(p) skip
#define MAY_TRY true
#endif

/* One that is no try waits for good, so that a leader who is never let in shows as a deadlock. */
#ifdef TRY
#define MAYBE_TRY if :: MAY_TRY -> trying = true :: true fi
#define OR_WITHDRAW(mine) :: trying -> d_step { trying = false; withdrawn = true; WAITS_NO_MORE(mine) }; break
#else
#define MAYBE_TRY skip
#define OR_WITHDRAW(mine)
#endif

inline cpu_cas(old, new) {
	d_step {
		DRAIN;
		seen = LTAIL;
		if
		:: seen == old -> LTAIL = new
		:: else
		fi
	}
}

inline cpu_swap() {
	d_step { DRAIN; seen = LTAIL; LTAIL = me; PHASE(QUEUED) }
}

inline nic_writes() {
	if
	:: nic != 0 -> RTAIL = nic_new; nic = 0; nic_new = 0
	:: else
	fi
}

/* The write comes later or has been made by who came after; done says so before the next step. */
inline nic_done() {
	d_step {
		if
		:: nic == me -> nic_writes()
		:: else
		fi
	}
}

inline remote_cas(old, new) {
	d_step {
		nic_writes();
		seen = RTAIL;
		if
		:: seen == old -> nic = me; nic_new = new
		:: else
		fi
	}
	if
	:: seen == old -> nic_done()
	:: else
	fi
}

inline remote_swap() {
#ifdef ONE_STEP
	d_step { nic_writes(); seen = RTAIL; nic = me; nic_new = me; PHASE(QUEUED) }
	nic_done()
#else
	/* The first guess is null, each further one what the last CAS returned. */
	do
	:: remote_cas(guess, me);
		if
		:: seen == guess -> d_step { guess = 0; PHASE(QUEUED) }; break
		:: else -> guess = seen
		fi
	od
#endif
}

/* The descriptor is ours alone until the swap publishes it. */
inline prepare() {
	d_step { PHASE(WANT); budget[me] = WAITS; next[me] = 0 }
}

inline queue_up() {
	if
	:: seen != 0 ->
		next[seen] = me;
		(budget[me] != WAITS)
	:: else
	fi
}

/* With a predecessor, a budget of 0 says that the cohort has had its share; without, nobody has entered for us. */
#define MUST_CONTEND (seen == 0 || budget[me] == 0)

inline critical(mine) {
	d_step { inside++; assert(inside == 1); ENTERS(mine); PHASE(IN) }
	d_step { inside--; PHASE(OUT) }
}

/* Whoever is behind us, but has not yet told us so, will. */
inline hand_over(amount) {
	(next[me] != 0);
	budget[next[me]] = amount
}

inline local_leave(amount) {
	cpu_cas(me, 0);
	if
	:: seen == me
	:: else -> hand_over(amount)
	fi
}

inline remote_leave(amount) {
	remote_cas(me, 0);
	if
	:: seen == me
	:: else -> hand_over(amount)
	fi
}

inline local_contend(mine) {
	MAYBE_TRY;
#ifdef TSO
	stored[me] = true;
	(!stored[me]); /* the fence */
#else
	d_step { victim = LOCAL; WAITS_FROM_NOW(mine) }
#endif
	do
	:: RTAIL == 0 || SEES_OTHER_VICTIM -> trying = false; break
	OR_WITHDRAW(mine)
	od
}

/*
 * The two reads are one verb or two, in no order. Reads that lead nowhere are left out: they are made again when
 * something has changed.
 */
inline remote_contend(mine) {
	MAYBE_TRY;
	d_step { victim = REMOTE; WAITS_FROM_NOW(mine) }
	do
	:: LTAIL == 0 || victim != REMOTE ->
		if
		:: free = (LTAIL == 0); other = (victim != REMOTE)
		:: other = (victim != REMOTE); free = (LTAIL == 0)
		fi;
		if
		:: free || other -> d_step { free = false; other = false; trying = false }; break
		:: else
		fi
	OR_WITHDRAW(mine)
	od
}

proctype near(byte me) {
	byte seen;
	bool trying, withdrawn;
	do
	:: prepare();
		cpu_swap();
		queue_up();
		if
		:: MUST_CONTEND ->
			local_contend(LOCAL);
			budget[me] = BL
		:: else
		fi;
		if
		:: !withdrawn -> critical(LOCAL); local_leave(budget[me] - 1)
#ifdef TRY
		:: else -> PHASE(OUT); local_leave(0)
#endif
		fi;
		d_step { seen = 0; withdrawn = false }
	:: break
	od
}

proctype far(byte me) {
	byte seen, guess;
	bool trying, withdrawn, free, other;
	do
	:: prepare();
		remote_swap();
		queue_up();
		if
		:: MUST_CONTEND ->
			remote_contend(REMOTE);
			budget[me] = BR
		:: else
		fi;
		if
		:: !withdrawn -> critical(REMOTE); remote_leave(budget[me] - 1)
#ifdef TRY
		:: else -> PHASE(OUT); remote_leave(0)
#endif
		fi;
		d_step { seen = 0; withdrawn = false }
	:: break
	od
}

#ifdef TSO
/* The store buffers empty themselves at any time. */
proctype drain(byte me) {
end:
	do
	:: d_step { stored[me] -> victim = LOCAL; stored[me] = false }
	od
}
#endif

init {
	byte i = 1;
	atomic {
		do
		:: i <= NL -> run near(i);
#ifdef TSO
			run drain(i);
#endif
			i++
		:: i > NL && i <= NL + NR -> run far(i); i++
		:: else -> break
		od;
		i = 0
	}
}
