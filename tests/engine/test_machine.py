# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""scripts/report/machine.py: what a compiled function may call, in code that the test makes."""

import pathlib
import sys
import types
import unittest
import unittest.mock

TOP = pathlib.Path(__file__).resolve().parents[2]
CALL, JUMP, OTHER = 2, 1, 0
NUMBER, REGISTER, MEMORY = 20, 21, 22


def at(*operands, kind=OTHER, size=4, prefix=0, mnemonic="add"):
    return types.SimpleNamespace(size=size, group=lambda group: group == kind, prefix=[prefix], mnemonic=mnemonic,
                                 operands=[types.SimpleNamespace(type=kind_of, imm=value) for kind_of, value in operands])


class Machine(unittest.TestCase):
    def setUp(self):
        """machine.py, without the decoder and the emulator, which the toolbox alone has."""
        x86 = types.SimpleNamespace(X86_OP_IMM=NUMBER, X86_OP_MEM=MEMORY)
        stubs = {"capstone": types.SimpleNamespace(CS_GRP_CALL=CALL, CS_GRP_JUMP=JUMP, x86=x86), "unicorn": unittest.mock.MagicMock(),
                 "image": types.SimpleNamespace(START=0, STUBS=0, Image=None)}
        path = [str(TOP / "scripts/report"), *sys.path]
        with unittest.mock.patch.dict(sys.modules, stubs), unittest.mock.patch.object(sys, "path", path):
            sys.modules.pop("machine", None)
            import machine
        self.machine = machine

    def calls(self, code, called=None, stubs=(), begin=0x100):
        """What the function at `begin` may call. `code` has the functions' instructions; each is 16 bytes long."""
        size = 16
        fake = types.SimpleNamespace(
            called=called or {}, image=types.SimpleNamespace(stubs=stubs, functions={address: f"f{address:x}" for address in code},
                                                             sizes={f"f{address:x}": size for address in code}),
            uc=types.SimpleNamespace(mem_read=lambda address, many: bytes([address // 0x100]) * many),
            decoder=types.SimpleNamespace(disasm=lambda text, address: iter(code[address]) if len(text) == size else self.fail("not all of it")))
        fake.calls = lambda function, seen: self.machine.Machine.calls(fake, function, seen)
        return fake.calls(begin, None)

    def test_calls_and_jumps_out_of_the_function_count(self):
        """A tail call is a jump."""
        for kind in (CALL, JUMP):
            code = {0x100: [at(), at((NUMBER, 0x900), kind=kind), at(), at()]}
            self.assertEqual(self.calls(code, {0x900: "printk"}), {"printk"})
            self.assertEqual(self.calls({0x100: [at((NUMBER, 0x900)), at(), at(), at()]}, {0x900: "printk"}), set())

    def test_jumps_inside_are_none(self):
        for target, due in ((0x100, set()), (0x10c, set()), (0x10f, set()), (0x110, {"next"}), (0xff, {"before"})):
            code = {0x100: [at((NUMBER, target), kind=JUMP), at(), at(), at()]}
            self.assertEqual(self.calls(code, {0x110: "next", 0xff: "before"}), due, hex(target))

    def test_what_a_function_calls_its_caller_may(self):
        code = {0x100: [at((NUMBER, 0x200), kind=CALL), at((NUMBER, 0x900), kind=CALL), at(), at()],
                0x200: [at((NUMBER, 0x300), kind=JUMP), at(), at(), at()],
                # It calls who called it.
                0x300: [at((NUMBER, 0x100), kind=CALL), at((NUMBER, 0xa00), kind=JUMP), at(), at()]}
        self.assertEqual(self.calls(code, {0x900: "leave", 0xa00: "printk"}), {"leave", "printk"})

    def test_what_cannot_be_followed_is_told(self):
        self.assertEqual(self.calls({0x100: [at((REGISTER, 3), kind=CALL), at(), at(), at()]}), {"what a register names"})
        self.assertEqual(self.calls({0x100: [at((MEMORY, 3), kind=JUMP), at(), at(), at()]}), {"what a register names"})
        self.assertEqual(self.calls({0x100: [at((NUMBER, 0x777), kind=JUMP), at(), at(), at()]}), {"code without a name at 0x777"})
        self.assertEqual(self.calls({0x100: [at(), at()]}), {"what cannot be read at 0x108"})
        # What stands for the compiler's own helpers calls nothing.
        self.assertEqual(self.calls({0x100: [at((NUMBER, 0x777), kind=JUMP), at(), at(), at()]}, stubs={0x777: b""}), set())

    def test_an_access_is_locked_by_its_prefix_or_as_an_exchange_with_memory(self):
        for instruction, due in ((at((MEMORY, 0), prefix=0xf0), True), (at((MEMORY, 0)), False), (at((MEMORY, 0), (REGISTER, 1), mnemonic="xchg"), True),
                                 (at((REGISTER, 0), (REGISTER, 1), mnemonic="xchg"), False), (at((MEMORY, 0), prefix=0xf3, mnemonic="pause"), False)):
            self.assertEqual(self.machine.is_locked(instruction), due)
