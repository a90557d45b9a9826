/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * ALock, as the crate implements it: an MCS queue with a budget for each cohort (threads that reach the lock by CPU
 * accesses, threads that reach it over the wire), and Peterson's algorithm between the two queues' leaders, with the
 * tails as its flags. tests/suites/spin says which settings are run and what each must show.
 *
 * What one step is. A CPU's CAS and swap are one step, as are 8-byte reads and writes of both kinds. A remote CAS is two:
 * a read and, if it succeeds, a later write; CPU accesses fall between them (the paper's Table 1), other remote CASes do
 * not (the NIC has one lock). Everything is sequentially consistent here, but for the victim store with TSO; the orderings
 * that the code needs on weaker machines are loom's to check.
 *
 * Settings: NL, NR threads of each cohort; BL, BR their budgets (at least 1).
 * ONE_STEP  a remote thread enqueues by one wait-free swap instead of CAS until it succeeds
 * TRY       an acquisition may be a try: as leader it may withdraw while it waits for the other cohort, and hands on
 *           its place to who is behind
 * TSO       a CPU's store to victim stays in its store buffer for a while
 * LATE      a remote thread's WRITE of what the lock protects is complete before it is in memory; a later READ or CAS of
 *           the same thread, which has one queue pair, comes after it
 * BYPASS    counts the other cohort's entries while a cohort waits; SLACK_L, SLACK_R are taken off what is allowed (with
 *           TRY only where a place was handed on meanwhile)
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
#define PLACE 254 /* handed on by a leader who withdrew, without the lock: the cohort has yielded, only poll */

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
bool waits[2];    /* a leader of the cohort has written victim, and since then its queue was never empty and none entered */
bool heir[2];     /* since then one has withdrawn */
byte bypassed[2]; /* how often the other cohort entered meanwhile */
#define WAITS_FROM_NOW(mine) waits[mine] = true
#define WITHDRAWS(mine) heir[mine] = true
#define IF_KEPT(kept, what) (kept -> what : 0)
#define WAITS_ON_IF(mine, kept) \
	waits[mine] = IF_KEPT(kept, waits[mine]); \
	heir[mine] = IF_KEPT(kept, heir[mine]); \
	bypassed[mine] = IF_KEPT(kept, bypassed[mine])
#ifdef TRY
#define SLACK(mine, slack) IF_KEPT(heir[mine], slack)
#else
#define SLACK(mine, slack) slack
#endif
#define ENTERS(mine) \
	WAITS_ON_IF(mine, false); \
	if :: waits[1 - mine] -> bypassed[1 - mine]++ :: else fi; \
	assert(bypassed[LOCAL] <= BR - SLACK(LOCAL, SLACK_R)); \
	assert(bypassed[REMOTE] <= BL - SLACK(REMOTE, SLACK_L))
#else
#define WAITS_FROM_NOW(mine) skip
#define WITHDRAWS(mine) skip
#define WAITS_ON_IF(mine, kept) skip
#define ENTERS(mine) skip
#endif

/* What the lock protects, and what it ought to be: each section changes it. */
#ifdef LATE
bit data, truth;
bool late[NL + NR + 1]; /* this thread's WRITE is complete and not in memory */
bit late_data[NL + NR + 1];
#define PUSH data = (late[me] -> late_data[me] : data); late[me] = false
#define CPU_READS assert(data == truth)
#define CPU_WRITES truth = 1 - truth; data = truth
#define NIC_READS PUSH; assert(data == truth)
#define NIC_WRITES truth = 1 - truth; late_data[me] = truth; late[me] = true
#else
#define PUSH skip
#define CPU_READS skip
#define CPU_WRITES skip
#define NIC_READS skip
#define NIC_WRITES skip
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
/* Only after a poll that does not let it in: one that could enter and withdraws lets nobody else in. */
#define OR_WITHDRAW(mine, blocked) \
	:: trying && (blocked) -> d_step { trying = false; withdrawn = true; WITHDRAWS(mine) }; break
/* Who was handed a place does not yield once more. */
#define YIELD_OR_HEIR(yield) if :: seen != 0 && budget[me] == PLACE -> skip :: else -> yield fi
#else
#define MAYBE_TRY skip
#define OR_WITHDRAW(mine, blocked)
#define YIELD_OR_HEIR(yield) yield
#endif

inline cpu_cas(old, new) {
	d_step {
		DRAIN;
		seen = LTAIL;
		if
		:: seen == old -> LTAIL = new; WAITS_ON_IF(LOCAL, new != 0)
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
		PUSH;
		seen = RTAIL;
		if
		:: seen == old -> nic = me; nic_new = new; WAITS_ON_IF(REMOTE, new != 0)
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
	d_step { nic_writes(); PUSH; seen = RTAIL; nic = me; nic_new = me; PHASE(QUEUED) }
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

/*
 * With a predecessor, a budget of 0 says that the cohort has had its share, and PLACE that nobody has entered for us;
 * so it is without one.
 */
#define MUST_CONTEND (seen == 0 || budget[me] == 0 || budget[me] == PLACE)

#define critical(mine, reads, writes) \
	d_step { inside++; assert(inside == 1); ENTERS(mine); PHASE(IN); reads } \
	d_step { writes; inside--; PHASE(OUT) }

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
	YIELD_OR_HEIR(stored[me] = true);
	(!stored[me]); /* the fence */
#else
	YIELD_OR_HEIR(d_step { victim = LOCAL; WAITS_FROM_NOW(mine) });
#endif
	do
	:: RTAIL == 0 || SEES_OTHER_VICTIM -> trying = false; break
	OR_WITHDRAW(mine, RTAIL != 0 && !SEES_OTHER_VICTIM)
	od
}

/*
 * The two reads are one verb or two, in no order. Reads that lead nowhere are left out: they are made again when
 * something has changed.
 */
inline remote_contend(mine) {
	MAYBE_TRY;
	YIELD_OR_HEIR(d_step { victim = REMOTE; WAITS_FROM_NOW(mine) });
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
	OR_WITHDRAW(mine, LTAIL != 0 && victim == REMOTE)
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
		:: !withdrawn -> critical(LOCAL, CPU_READS, CPU_WRITES) local_leave(budget[me] - 1)
#ifdef TRY
		:: else -> PHASE(OUT); local_leave(PLACE)
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
		:: !withdrawn -> critical(REMOTE, NIC_READS, NIC_WRITES) remote_leave(budget[me] - 1)
#ifdef TRY
		:: else -> PHASE(OUT); remote_leave(PLACE)
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

#ifdef LATE
/* What is on its way comes at any time. */
proctype card(byte me) {
end:
	do
	:: d_step { late[me] -> PUSH }
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
		:: i > NL && i <= NL + NR -> run far(i);
#ifdef LATE
			run card(i);
#endif
			i++
		:: else -> break
		od;
		i = 0
	}
}
