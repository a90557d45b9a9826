# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""What the other CPU does to a lock, by the lock's shape: the scenarios in which scripts/report/steps runs its code.

The other CPU is a generator. It yields a pattern of the step of this CPU that it waits for, then writes to memory.
Where a scenario is run as a race, it goes on at any step instead, unless the pattern begins with `!`."""

import dataclasses
import typing

from machine import ARENA, ME, NODES, OTHER

LATER = ("pause",) * 3  # so that this CPU looks twice in vain
FULL, NONE, OWN = (1 << NODES) - 1, 0, 0xffffffff
HAVE = r"!(xchg|cmpxchg) lock\+0"  # this CPU has the lock


@dataclasses.dataclass
class Scenario:
    name: str
    words: dict                         # what memory holds at first
    is_over: typing.Callable            # whether the lock is another's, or free, once this CPU had it
    other: typing.Callable = None
    waits: tuple = ()                   # the words that this CPU polls, in order
    looks: tuple = ()                   # the one ticket in whose slot it waits
    notifies: tuple = ()                # the tickets whose slots it increments
    tries: bool = False                 # whether it may try while it waits, where the other CPU wrote
    calls: tuple = ()                   # what it calls between the first and the last call, but for what tells of contention
    writes: tuple = ()                  # what it writes to the lock's words, where not the same as alone
    pools: tuple = (FULL, FULL)         # the free nodes of this CPU and of the other in the end
    pairs: int = 1
    contended: bool = False             # whether it tells the kernel of contention, around its wait for the lock
    awaits_successor: bool = False      # whether it waits in its unlock, too


def tickets(m, one_word=False, array=True):
    """A ticket and a grant, in two words or in the halves of one; with a waiting array, or without."""
    bits = 16 if one_word else 32
    mask, first = (1 << bits) - 1, (1 << bits) - 2  # both wrap
    grant_word = "lock+0" if one_word else "lock+4"

    def words(ticket, grant):
        ticket, grant = ticket & mask, grant & mask
        return {ARENA: ticket << 16 | grant} if one_word else {ARENA: ticket, ARENA + 4: grant}

    def ticket_and_grant():
        word = m.read(ARENA)
        return (word >> 16, word & mask) if one_word else (word, m.read(ARENA + 4))

    def scenario(name, ahead=0, behind=0, collides=False, pairs=1):
        mine = first + ahead

        def notify(ticket):
            slot = m.slot(ticket & mask)
            m.write(slot, m.read(slot) + 1)

        def other():
            if behind:
                yield r"!xadd lock\+0"
                ticket, grant = ticket_and_grant()
                m.put(words(ticket + behind, grant))
            if collides:
                yield from LATER
                notify(mine)
            for done in range(1, ahead + 1):
                yield from LATER
                ticket, _ = ticket_and_grant()
                m.put(words(ticket, first + done))
                yield "pause"
                notify(first + done + 1)

        told = range(pairs) if array and (not one_word or behind > 1) else ()
        far = ("slot",) if array and ahead > 1 else ()
        return Scenario(name, words(mine, first), lambda: ticket_and_grant()[1] == (mine + 1) & mask,
                        other if ahead or behind else None, far + (grant_word,) * bool(ahead), looks=(mine & mask,) * len(far),
                        notifies=tuple(mine + 2 + pair & mask for pair in told), pairs=pairs, contended=ahead > 0)

    return [scenario("alone", pairs=2), scenario("1 ahead", 1), scenario("2 ahead", 2), scenario("3 ahead", 3),
            *([scenario("2 ahead, a collision", 2, collides=True)] if array else []),
            scenario("1 behind", behind=1), scenario("2 behind", behind=2), scenario("2 ahead, 2 behind", 2, 2)]


def queue(m, clh=False):
    """A queue of nodes whose tail is the first word; MCS, or CLH."""
    mine, theirs = (cpu * NODES + number + 1 for cpu, number in ((ME, 0), (OTHER, 3)))

    def node(index):
        """Of OWN, the word that is next in MCS and flag in CLH is the lock's second."""
        return ARENA + 4 - 4 * clh if index == OWN else m.pool((index - 1) // NODES) + 64 * (1 + (index - 1) % NODES)

    def put(index):
        if index != OWN:
            pool = m.pool((index - 1) // NODES)
            m.write(pool, m.read(pool) + (1 << (index - 1) % NODES))

    def free():
        """Whether theirs was the last node, and the lock is free now."""
        if m.read(ARENA) != theirs:
            return False
        m.write(ARENA, NONE)
        put(theirs)
        return True

    def owner():
        yield from LATER
        while not free():
            if clh:
                m.write(node(theirs) + 4, 1)
                break
            if m.read(node(theirs)):
                m.write(node(m.read(node(theirs))) + 4, 1)
                put(theirs)
                break
            yield ".*"

    def follower():
        yield HAVE
        before = m.read(ARENA)
        m.write(ARENA, theirs)
        yield from () if clh else LATER
        if not clh:
            m.write(node(before), theirs)
        while m.read(node(before if clh else theirs) + 4) != 1:
            yield ".*"
        if clh:
            m.write(node(before) + 4, 0)
            put(before)
        free()

    def is_over():
        return m.read(ARENA) == NONE or m.read(node(mine if clh else theirs) + 4) == 1 or clh and m.read(ARENA + 4) == 1

    def scenario(name, other=None, waits=(), no_node=False, pairs=1):
        words = {ARENA: theirs if other is owner else NONE, m.pool(OTHER): FULL & ~(1 << 3) if other else FULL,
                 m.pool(ME): 0 if no_node else FULL}
        writes = ("cmpxchg lock+0",) * 2 + ("store lock+4",) * (other is follower) if no_node else ()
        return Scenario(name, words, is_over, other, waits, writes=writes, pools=(words[m.pool(ME)], FULL), pairs=pairs,
                        contended=other is owner, awaits_successor=other is follower and not clh)

    return [scenario("alone", pairs=2), scenario("1 ahead", owner, ("other node+4" if clh else "node+4",)),
            scenario("1 behind", follower, () if clh else ("node+0",)), scenario("no node", no_node=True),
            scenario("no node, 1 ahead", owner, ("lock+0",), True),
            scenario("no node, 1 behind", follower, () if clh else ("lock+4",), True)]


def word(m, slow_path=""):
    """A word that is 0 while the lock is free. With a slow path elsewhere, which returns when the caller has the lock."""
    def owner():
        yield from LATER
        m.write(ARENA, 0)

    def snatcher():
        """It has the lock again between this CPU's last look and its try."""
        yield from owner()
        yield from (r"load lock\+0",) * 2
        if m.read(ARENA) == 0:
            m.write(ARENA, 1)
            yield from owner()

    def in_slow_path():
        yield f"!call {slow_path}"
        m.write(ARENA, 1)

    def scenario(name, other=None, **more):
        return Scenario(name, {ARENA: 1 if other else 0}, lambda: m.read(ARENA) == 0, other, **more)

    alone = scenario("alone", pairs=2)
    if slow_path:
        return [alone, scenario("1 ahead", in_slow_path, calls=(slow_path,))]
    return [alone, scenario("1 ahead", owner, waits=("lock+0",), contended=True),
            scenario("1 ahead, again", snatcher, waits=("lock+0",), contended=True, tries=True, writes=("cmpxchg lock+0",) * 2 + ("store lock+0",))]


SHAPES = {
    "tickets": lambda m: tickets(m, array=False),
    "tickets+array": tickets,
    "halves+array": lambda m: tickets(m, one_word=True),
    "mcs": queue,
    "clh": lambda m: queue(m, clh=True),
    "word": word,
    "word+slow": lambda m: word(m, r"(native_)?queued_spin_lock_slowpath\(lock\)"),
    "calls": lambda m: [Scenario("alone", {}, None, pairs=2)],
}
