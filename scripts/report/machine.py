# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""An emulated x86-64 machine (Unicorn) with a module in it, and what the kernel gives its code: an area for each CPU, a
stack, a lock in an arena, and a writer. It tells each step that the code takes on the words that matter."""

import re
import struct

import capstone
from image import START, STUBS, Image
from unicorn import UC_ARCH_X86, UC_HOOK_CODE, UC_HOOK_MEM_READ, UC_HOOK_MEM_WRITE, UC_MEM_WRITE, UC_MODE_64, Uc, UcError
from unicorn import x86_const as x86

ARENA, LOCK_BYTES = 0x730000580, 256            # an address has more than 32 bits, and is no multiple of a page
PHASE, COURSE = ARENA + 0x180, (2, 3, 3, 0xf)   # struct Course: writers run; steps in and between sections; all checks
WRITER, STACK, END = 0x740000000, 0x750010000, 0x760000000
ME, OTHER, CPUS = 1, 0, 2                       # this CPU's number, and that of the CPU that contends
SLOTS, NODES = 4096, 16
MOST = 50000                                    # instructions of a run
OURS = "handover_"                              # what the module's C has: the kernel's business
RETURN, TRUE = b"\xc3", b"\xb0\x01\xc3"          # what such a function is here; in al, that it took the lock
TOLD = ("res_spin_lock",)                       # those that say so


def area(cpu):
    """A CPU's __per_cpu_offset."""
    return (cpu + 1) << 40


def is_locked(instruction):
    has_memory = any(operand.type == capstone.x86.X86_OP_MEM for operand in instruction.operands)
    return instruction.prefix[0] == 0xf0 or instruction.mnemonic == "xchg" and has_memory


class Machine:
    def __init__(self, path):
        self.image = image = Image(path)
        self.uc, self.decoder = Uc(UC_ARCH_X86, UC_MODE_64), capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
        self.decoder.detail, self.decoded, self.writes = True, {}, 0
        self.array, self.nodes = (address for ending in ("4spin4word10WAIT_ARRAY", "4spin5nodes5NODES")
                                  for name, address in image.symbols.items() if name.endswith(ending))
        self.new_nodes = struct.pack("<I", (1 << NODES) - 1) + bytes(64 * (1 + NODES) - 4)
        # Where a call is a step, and its name.
        self.called = {address: name for name, address in image.undefined.items() if not name.startswith(("__x86_", "__fentry__"))}
        self.called |= {address: name.removeprefix(OURS) for address, name in image.functions.items() if name.startswith(OURS)}
        for start, end in ((START, image.end), (STUBS, image.stubs_end), (ARENA, ARENA + 0x800), (WRITER, WRITER + 0x1000),
                           (STACK - 0x10000, STACK + 0x1000), (END, END + 16)):
            self.map(start, end)
        for address, part in (*image.parts.items(), *image.stubs.items(), *((address, TRUE if name in TOLD else RETURN) for address, name in self.called.items())):
            self.uc.mem_write(address, part)
        watched = [(ARENA, LOCK_BYTES), (self.array, 4 * SLOTS)]
        for cpu in range(CPUS):
            self.map(self.pool(cpu), self.pool(cpu) + len(self.new_nodes))
            self.map(area(cpu) + STUBS, area(cpu) + image.stubs_end)
            self.uc.mem_write(area(cpu) + image.undefined.get("cpu_number", STUBS), struct.pack("<I", cpu))
            self.uc.mem_write(image.undefined.get("__per_cpu_offset", STUBS) + 8 * cpu, struct.pack("<Q", area(cpu)))
            watched.append((self.pool(cpu), len(self.new_nodes)))
        self.uc.hook_add(UC_HOOK_CODE, self.on_code)
        for start, size in watched:
            self.uc.hook_add(UC_HOOK_MEM_READ | UC_HOOK_MEM_WRITE, self.on_access, None, start, start + size - 1)

    def map(self, start, end):
        page = start & ~0xfff
        self.uc.mem_map(page, (end - page + 0xfff) & ~0xfff)

    # --- memory

    def read(self, address):
        return struct.unpack("<I", self.uc.mem_read(address, 4))[0]

    def write(self, address, value):
        self.writes += 1
        self.uc.mem_write(address, struct.pack("<I", value % (1 << 32)))

    def put(self, words):
        for address, value in words.items():
            self.write(address, value)

    def slot(self, ticket):
        """Where the holder of `ticket` waits, computed apart from the code that is checked."""
        return self.array + 4 * ((ticket * 127 ^ ARENA % (1 << 32)) % SLOTS)

    def pool(self, cpu):
        return self.nodes + area(cpu)

    def place(self, address):
        """The name of a word that is watched."""
        if ARENA <= address < ARENA + LOCK_BYTES:
            return f"lock+{address - ARENA}"
        if address < area(0):
            return "slot"
        cpu = (address >> 40) - 1
        offset, whose = address - self.pool(cpu), "" if cpu == ME else "other "
        return f"{whose}pool" if offset < 64 else f"{whose}node+{offset % 64}"

    # --- running

    def run(self, function, lock_in, words, seen):
        """Calls the function, with `words` in a lock that is new otherwise. `seen` is called after each step, with its name
        and its address. It returns whether that is enough. Returns the fault, if there is one."""
        course = struct.pack("<IIIB", *COURSE)
        for address, content in ((self.array, bytes(4 * SLOTS)), (ARENA, bytes(0x200)), (PHASE, course), (WRITER, bytes(0x100)),
                                 (WRITER, struct.pack("<QI", ARENA, 1)), (STACK, struct.pack("<Q", END)),
                                 *((self.pool(cpu), self.new_nodes) for cpu in range(CPUS))):
            self.uc.mem_write(address, content)
        self.put(words)
        self.seen, self.step, self.count, self.at, self.fault = seen, None, 0, function, "it returns too early"
        for register, value in ((x86.UC_X86_REG_RSP, STACK), (x86.UC_X86_REG_GS_BASE, area(ME)), (x86.UC_X86_REG_RDI, WRITER),
                                (x86.UC_X86_REG_RSI, ARENA), (lock_in, ARENA)):
            self.uc.reg_write(register, value)
        try:
            self.uc.emu_start(function, END)
        except UcError as error:
            return f"{error}, in {self.where()}"
        return self.fault

    def where(self):
        start = max((address for address in self.image.functions if address <= self.at), default=self.at)
        return f"{self.image.functions.get(start, '?')}+{self.at - start:#x}"

    def decode(self, address):
        if address not in self.decoded:
            self.decoded[address] = next(self.decoder.disasm(bytes(self.uc.mem_read(address, 16)), address, 1), None)
        return self.decoded[address]

    def on_code(self, uc, address, _size, _data):
        """Tells of the instruction before; then sees what this one may be."""
        step, self.step, self.at, self.count = self.step, None, address, self.count + 1
        if step and self.seen(*step):
            self.fault = None
            uc.emu_stop()
        elif self.count == MOST:
            self.fault = f"no end after {MOST} instructions, in {self.where()}"
            uc.emu_stop()
        elif address in self.called:
            has_lock = re.search("spin_|contention_", self.called[address]) and uc.reg_read(x86.UC_X86_REG_RDI) == ARENA
            self.step = f"call {self.called[address]}" + "(lock)" * bool(has_lock), address
        elif instruction := self.decode(address):
            name = instruction.mnemonic.split()[-1]
            if name in ("pause", "mfence", "lfence", "sfence"):
                self.step = name, address
            elif is_locked(instruction):
                self.step = f"{name} elsewhere", address
            if name == "pause":
                uc.reg_write(x86.UC_X86_REG_RIP, address + instruction.size)  # an emulator would leave here

    def on_access(self, _uc, access, address, size, _value, _data):
        place, is_write = self.place(address), access == UC_MEM_WRITE
        kind = "store" if is_write else "load"
        if is_locked(self.decode(self.at)):
            kind = self.decode(self.at).mnemonic.split()[-1]
            kind = "inc" if place == "slot" and kind in ("add", "xadd") else kind
        elif self.step and is_write:
            kind = "rmw"
        self.step = f"{kind} {place}" + (f":{size}" if size != 4 else ""), address

    # --- reading

    def calls(self, function, seen=None):
        """What the function may call, wherever its branches go, and what those of the module's in Rust may that it calls."""
        seen = set() if seen is None else seen
        if function in self.called:
            return {self.called[function]}
        if function in seen or function in self.image.stubs:
            return set()
        if function not in self.image.functions:
            return {f"code without a name at {function:#x}"}
        seen.add(function)
        size, found, read = self.image.sizes[self.image.functions[function]], set(), 0
        for instruction in self.decoder.disasm(bytes(self.uc.mem_read(function, size)), function):
            read += instruction.size
            if instruction.group(capstone.CS_GRP_CALL) or instruction.group(capstone.CS_GRP_JUMP):
                if instruction.operands[0].type != capstone.x86.X86_OP_IMM:
                    found.add("what a register names")
                elif not function <= instruction.operands[0].imm < function + size:
                    found |= self.calls(instruction.operands[0].imm, seen)
        return found if read == size else found | {f"what cannot be read at {function + read:#x}"}
