------------------------------- MODULE ALock -------------------------------
(***************************************************************************
  SPDX-License-Identifier: GPL-2.0-only

  ALock in PlusCal: two MCS queues with budgets, and Peterson's algorithm
  between their leaders, with the tails as its flags. Written for this
  project; it answers the paper's Appendix A. tests/models/spin/alock.pml has the
  same steps and more variants (tries, a store buffer). What is proved here
  and not there: FIFO in a cohort, lock-freedom of the remote enqueue, and
  fairness for all threads in one search.

  Steps. What a CPU does is atomic. A remote CAS is a read and, where it
  succeeds, a later write, and CPU accesses fall between (the paper's
  Table 1); other remote CASes do not: one that starts makes an earlier one
  write first. A leader's poll of the other tail and of victim is one step:
  it goes in as soon as one of the two says so, and whether it saw the other
  one before or after changes nothing.

  Fairness assumed: a thread that can go on all the time does go on (weak
  fairness), except that nobody has to call lock. Nothing more is assumed of
  the network.

  What is weaker than the paper claims. It enqueues remote threads by CAS
  until one succeeds and says that every thread enters. That does not hold:
  another remote thread may always come first (CallEnters fails where Retry
  is TRUE; tests/suites/tla sees it fail). What holds: a remote thread that
  is in the queue enters (QueuedEnters), local threads enter (NearEnters),
  and whenever a remote thread keeps on failing, others keep on getting into
  the queue (LockFreeEnqueue). With an enqueue of one step (Retry is FALSE)
  all threads enter.

  The fairness properties say [] or ~> (which is a [] too): of every state
  and every step. Without it, TLC looks at the first state only.
 ***************************************************************************)
EXTENDS Integers, Sequences

CONSTANTS Near, Far,             \* sets of threads, positive numbers
          BudgetNear, BudgetFar, \* at least 1
          Retry                  \* a remote enqueue: CAS until it succeeds, or one step

None == 0
Threads == Near \cup Far
Cohorts == {"near", "far"}
Cohort(t) == IF t \in Near THEN "near" ELSE "far"
Other(c) == IF c = "near" THEN "far" ELSE "near"
Budget(c) == IF c = "near" THEN BudgetNear ELSE BudgetFar

(* --algorithm ALock
variables
  \* the lock
  tail = [c \in Cohorts |-> None],
  victim = "near",
  \* the descriptors
  budget = [t \in Threads |-> -1],
  next = [t \in Threads |-> None],
  \* the remote CAS that has read and has yet to write: whose, and what
  nic = None,
  nicNew = None,
  \* history, which no thread reads: who is in the queue and has not entered,
  \* oldest first; whether a leader has written victim and not entered; how
  \* often the other cohort entered meanwhile (no further than one too many)
  order = [c \in Cohorts |-> <<>>],
  waits = [c \in Cohorts |-> FALSE],
  bypassed = [c \in Cohorts |-> 0];

macro nic_writes() begin
  if nic = self then
    tail["far"] := nicNew;
    nic := None;
    nicNew := None;
  end if;
end macro;

\* The first half of a remote CAS, or of a remote swap (always).
macro nic_reads(always, old, new) begin
  with now = IF nic # None THEN nicNew ELSE tail["far"] do
    seen := now;
    tail["far"] := now;
    if always \/ now = old then
      nic := self;
      nicNew := new;
    else
      nic := None;
      nicNew := None;
    end if;
  end with;
end macro;

fair process thread \in Threads
variables seen = None, guess = None;
begin
  idle:- \* for as long as it likes
    budget[self] := -1;
    next[self] := None;
    seen := None;
    guess := None;
  enqueue:
    if self \in Near then
      seen := tail["near"];
      tail["near"] := self;
      order["near"] := Append(order["near"], self);
      goto link;
    else
      nic_reads(~Retry, guess, self);
      if ~Retry \/ seen = guess then
        order["far"] := Append(order["far"], self);
      else
        guess := seen;
        goto enqueue;
      end if;
    end if;
  published:
    nic_writes();
  link:
    if seen = None then
      goto contend;
    else
      next[seen] := self;
    end if;
  handed:
    await budget[self] # -1;
    if budget[self] # 0 then
      goto enter;
    end if;
  contend:
    victim := Cohort(self);
    waits[Cohort(self)] := TRUE;
    bypassed[Cohort(self)] := 0;
  look:
    await tail[Other(Cohort(self))] = None \/ victim # Cohort(self);
    budget[self] := Budget(Cohort(self));
  enter:
    order[Cohort(self)] := SelectSeq(order[Cohort(self)], LAMBDA t : t # self);
    bypassed := [c \in Cohorts |->
      IF c = Cohort(self) THEN 0
      ELSE bypassed[c] + (IF waits[c] /\ bypassed[c] <= Budget(Other(c)) THEN 1 ELSE 0)];
    waits[Cohort(self)] := FALSE;
  critical:
    skip;
  leave:
    if self \in Near then
      seen := tail["near"];
      if seen = self then
        tail["near"] := None;
      end if;
      goto hand;
    else
      nic_reads(FALSE, self, None);
    end if;
  left:
    nic_writes();
  hand:
    if seen # self then
      await next[self] # None;
      budget[next[self]] := budget[self] - 1;
    end if;
    goto idle;
end process;
end algorithm; *)
\* BEGIN TRANSLATION
\* END TRANSLATION

---------------------------------------------------------------------------
(* Safety *)

TypeOK ==
  /\ tail \in [Cohorts -> Threads \cup {None}]
  /\ \A c \in Cohorts : tail[c] = None \/ Cohort(tail[c]) = c
  /\ victim \in Cohorts
  /\ \A t \in Threads : budget[t] \in -1 .. Budget(Cohort(t))
  /\ next \in [Threads -> Threads \cup {None}]
  /\ \A t \in Threads : next[t] # None => Cohort(next[t]) = Cohort(t)
  /\ nic \in Far \cup {None}
  /\ nicNew \in Far \cup {None}

Exclusion == \A t, u \in Threads :
  pc[t] = "critical" /\ pc[u] = "critical" => t = u

(* Liveness *)

Enters(t) == pc[t] = "critical"
Queued(t) == pc[t] \in {"published", "link", "handed", "contend", "look", "enter"}

\* Who is in a queue enters.
QueuedEnters == \A t \in Threads : Queued(t) ~> Enters(t)

\* A local thread that calls lock enters.
NearEnters == \A t \in Near : pc[t] = "enqueue" ~> Enters(t)

\* Every thread that calls lock enters: only where Retry is FALSE.
CallEnters == \A t \in Threads : pc[t] = "enqueue" ~> Enters(t)

\* Where a remote thread fails to enqueue for ever, others succeed for ever.
LockFreeEnqueue == \A t \in Far :
  <>[](pc[t] = "enqueue") => []<>(\E u \in Far : pc[u] = "published")

(* Fairness *)

\* In a cohort, who is first in the queue enters first.
Fifo == [][\A t \in Threads :
  pc[t] = "enter" /\ pc'[t] = "critical" => Head(order[Cohort(t)]) = t]_vars

\* While a cohort's leader waits, the other enters at most its budget's times.
Bypass == [](\A c \in Cohorts : bypassed[c] <= Budget(Other(c)))

\* The bound is tight: this fails.
BypassLess == [](\A c \in Cohorts : bypassed[c] < Budget(Other(c)))

\* A cohort whose leader waits gets its turn.
Alternation == \A c \in Cohorts :
  waits[c] ~> \E t \in Threads : Cohort(t) = c /\ Enters(t)
============================================================================
