# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""A test of the table in the C that herd7 reads: the kernel's, or C11's."""

from table import BARRIER, IF, ORDERS, STEP, lines_of, order_of

LKMM = {
    "load_relaxed": "READ_ONCE(*{at})", "load_acquire": "smp_load_acquire({at})",
    "store_relaxed": "WRITE_ONCE(*{at}, {0})", "store_release": "smp_store_release({at}, {0})",
    # The kernel has no order that is both and no more. rust/linux/spin/word.rs has this one, which is a full barrier.
    "swap_acq_rel": "atomic_xchg({at}, {0})",
    # Its RMWs without a suffix are full barriers, and it has no load that is more than an acquire.
    "swap_seq_cst": "atomic_xchg({at}, {0})", "fetch_add_seq_cst": "atomic_fetch_add({0}, {at})",
    "load_seq_cst": "READ_ONCE(*{at})", BARRIER: "smp_mb()",
    **{f"swap_{order}": f"atomic_xchg_{order}({{at}}, {{0}})" for order in ORDERS[:3]},
    **{f"fetch_add_{order}": f"atomic_fetch_add_{order}({{0}}, {{at}})" for order in ORDERS[:3]},
    **{f"cmpxchg_{order}": f"atomic_cmpxchg_{order}({{at}}, {{0}}, {{1}})" for order in ORDERS[:3]},
}
C11 = {
    **{f"load_{order}": f"atomic_load_explicit({{at}}, memory_order_{order})"
       for order in ("relaxed", "acquire", "seq_cst")},
    **{f"store_{order}": f"atomic_store_explicit({{at}}, {{0}}, memory_order_{order})" for order in ("relaxed", "release")},
    **{f"swap_{order}": f"atomic_exchange_explicit({{at}}, {{0}}, memory_order_{order})" for order in ORDERS},
    **{f"fetch_add_{order}": f"atomic_fetch_add_explicit({{at}}, {{0}}, memory_order_{order})"
       for order in (*ORDERS[:3], "seq_cst")},
    BARRIER: "atomic_thread_fence(memory_order_seq_cst)",
    **{f"cmpxchg_{order}": "atomic_compare_exchange_strong_explicit({at}, {old}, {1}, "
       f"memory_order_{order}, memory_order_relaxed)" for order in ORDERS[:3]},
}
PLAIN = {"read": "*{at}", "write": "*{at} = {0}"}
MARKED = {"read": "READ_ONCE(*{at})", "write": "WRITE_ONCE(*{at}, {0})"}
RMWS = ("swap", "fetch_add", "cmpxchg")


class Dialect:
    def __init__(self, is_c11, is_plain):
        self.is_c11, self.is_plain = is_c11, is_plain
        self.ops = {**(C11 if is_c11 else LKMM), **(PLAIN if is_plain else MARKED)}

    def step(self, step, olds):
        """A step in C. What a cmpxchg of C11 compares with stands in memory: it comes into `olds`."""
        kind, order = order_of(step["op"])
        args = [word.strip() for word in step["args"].split(",")]
        if kind == "inc":
            kind, args = "fetch_add", ["1"]
        elif kind == "wait":
            kind = "load"
        old = f"old{len(olds)}"
        if kind == "cmpxchg" and self.is_c11:
            olds[old] = args[0]
        text = self.ops[kind + (order and f"_{order}")].format(*args, at=step["at"], old=old)
        if kind == "cmpxchg" and not self.is_c11:
            text += f" == {args[0]}"
        # A RMW is an expression, whether its value is used or not.
        to = step["to"] or ("r8" if kind in RMWS else "")
        return to, f"{to} = {text};" if to else f"{text};"

    def thread(self, number, thread, olds):
        lines, places, registers, depth = [], {}, {}, 0
        for line in lines_of(thread):
            step, branch = STEP.fullmatch(line), IF.fullmatch(line)
            if not step and not branch:
                raise SystemExit(f"not a step: '{line}'")
            while depth > len((step or branch)["pad"]) // 2:
                depth -= 1
                lines.append("}")
            if branch:
                lines.append(f"if ({branch['left']} {branch['how']} {branch['right']}) {{")
                depth += 1
                continue
            if step["op"] != BARRIER:
                places[step["at"]] = "int*" if step["op"] in PLAIN else "atomic_int*" if self.is_c11 else "atomic_t*"
            before = set(olds)
            to, text = self.step(step, olds)
            if to:
                registers[to] = True
            places.update({old: "int*" for old in olds if old not in before})
            lines.append(text)
        lines += ["}"] * depth
        parameters = ", ".join(f"{kind} {place}" for place, kind in places.items())
        body = [f"int {register} = 99;" for register in registers] + lines
        return "".join(f"{line}\n" for line in (f"P{number}({parameters}) {{", *body, "}"))

    def test(self, name, init, threads, condition):
        olds = {}
        text = "\n".join(self.thread(number, thread, olds) for number, thread in enumerate(threads))
        values = " ".join(f"{place}={value};" for place, value in {**init, **olds}.items())
        return f"C {name}\n{{ {values} }}\n\n{text}\nexists ({condition})\n"
