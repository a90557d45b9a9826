# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""What disasm-path knows of x86-64: it reads llvm-objdump's listing of a function
and follows a lock's address through registers and stack slots."""

import re

WIDTHS = {}  # a register's every name: its 64-bit name
for old in ("ax", "bx", "cx", "dx"):
    WIDTHS.update({n: f"r{old}" for n in (f"r{old}", f"e{old}", old, f"{old[0]}l", f"{old[0]}h")})
for old in ("si", "di", "bp", "sp"):
    WIDTHS.update({n: f"r{old}" for n in (f"r{old}", f"e{old}", old, f"{old}l")})
for new in range(8, 16):
    WIDTHS.update({f"r{new}{suffix}": f"r{new}" for suffix in ("", "d", "w", "b")})
CALL_CLOBBERS = ("rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11")
MEMORY = re.compile(r"^(?P<offset>-?0x[0-9a-f]+)?\((?P<base>%\w+)?(?P<index>,.*)?\)$")
FIELDS = {0: "ticket", 4: "grant"}


def read_function(pattern, lines):
    """The instructions of the one function: {address: (mnemonic, operands, target)}."""
    found, code, inside = [], {}, False
    prefix = address = None
    for line in lines:
        head = re.match(r"^[0-9a-f]+ <(.*)>:$", line)
        if head:
            inside = bool(re.search(pattern, head[1])) and not head[1].startswith("__pfx_")
            found += [head[1]] if inside else []
            continue
        if not inside:
            continue
        relocation = re.match(r"^\s+[0-9a-f]+:\s+R_X86_64_\w+\s+(\S+)", line)
        if relocation and address is not None:
            mnemonic, operands, _ = code[address]
            code[address] = mnemonic, operands, re.sub(r"[-+]0x[0-9a-f]+$", "", relocation[1])
        instruction = re.match(r"^\s*([0-9a-f]+):\s+(\S.*)$", line)
        if not instruction or relocation:
            continue
        text = re.sub(r"\s+#.*$", "", instruction[2]).strip()
        address = int(instruction[1], 16) if prefix is None else prefix
        if text == "lock":
            prefix = address
            continue
        locked = prefix is not None or text.startswith("lock")
        words = re.sub(r"^lock\s+", "", text).split(None, 1)
        operands = re.split(r",\s*(?![^(]*\))", words[1]) if len(words) > 1 else []
        code[address] = ("lock " if locked else "") + words[0], operands, None
        prefix = None
    if len(found) != 1:
        raise LookupError(f"{len(found)} functions match {pattern}")
    return code


class State:
    """What registers and stack slots hold, as offsets from the lock's address."""

    def __init__(self, known, events, fork):
        self.known, self.events, self.fork = dict(known), events, fork

    def key(self, address):
        return address, frozenset(self.known.items()), self.events, self.fork

    def value(self, operand):
        if operand.startswith("%"):
            return self.known.get(WIDTHS.get(operand[1:]))
        return self.known.get(operand)

    def place(self, operand):
        """The word of the lock that a memory operand is, 'slot' if it is none."""
        memory = MEMORY.match(operand)
        if not memory or memory["index"] or not memory["base"]:
            return "slot"
        base = self.known.get(WIDTHS.get(memory["base"][1:]))
        if base is None:
            return "slot"
        return FIELDS.get(base + int(memory["offset"] or "0", 16), "slot")

    def write(self, operand, value):
        place = WIDTHS.get(operand[1:], operand) if operand.startswith("%") else operand
        self.known.pop(place, None)
        if value is not None:
            self.known[place] = value


    def call(self):
        for register in CALL_CLOBBERS:
            self.known.pop(register, None)


def access(state, mnemonic, operands):
    """The event that an instruction is, or None."""
    memory = [operand for operand in operands if "(" in operand or operand.startswith("%gs:")]
    if mnemonic.startswith("lock ") or (mnemonic.startswith("xchg") and memory):
        name = re.sub(r"^(lock (?:xadd|inc|dec|add|sub|or|and|cmpxchg)|xchg)[bwlq]$", r"\1", mnemonic)
        return f"{name} {state.place(memory[0])}" if memory else None
    if mnemonic in ("mfence", "lfence", "sfence", "ud2", "int3", "hlt", "syscall"):
        return mnemonic
    if not memory or mnemonic.startswith(("lea", "nop", "prefetch")):
        return None
    place = state.place(memory[0])
    if place == "slot":
        return None
    if memory[0] != operands[-1] or mnemonic.startswith(("cmp", "test")):
        return f"load {place}"
    return f"store {place}" if mnemonic.startswith("mov") else f"rmw {place}"


def update(state, mnemonic, operands):
    """What an instruction does to what is known."""
    if not operands or mnemonic.startswith(("cmp", "test", "nop")):
        return
    last = operands[-1]
    if mnemonic.startswith(("push", "pop")) or (last == "%rsp"):
        for place in [place for place in state.known if "(%rsp)" in place]:
            del state.known[place]
    value = None
    if mnemonic in ("movq", "movabsq") and len(operands) == 2:
        value = state.value(operands[0])
    elif mnemonic == "leaq":
        memory = MEMORY.match(operands[0])
        if memory and memory["base"] and not memory["index"]:
            base = state.value(memory["base"])
            value = None if base is None else base + int(memory["offset"] or "0", 16)
    elif mnemonic == "addq" and state.value(last) is not None and operands[0].startswith("$"):
        value = state.value(last) + int(operands[0][1:], 16)
    if mnemonic.startswith(("xchg", "lock xadd", "xadd")):
        state.write(operands[0], None)
    if last.startswith("%") or "(%rsp)" in last:
        state.write(last, value)
