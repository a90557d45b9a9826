# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""A kernel module's file as the kernel loads it: sections one behind the other, relocated. The symbols that it does not
define have stubs, which return."""

import re

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection

START, STUBS, STUB = 0x10000000, 0x20000000, 64  # a relocation may have 31 bits for an address
SIZES = {1: 8, 24: 8, 2: 4, 4: 4, 10: 4, 11: 4}  # R_X86_64_64, PC64, PC32, PLT32, 32, 32S
RELATIVE = (2, 4, 24)
REGISTERS = ("ax", "cx", "dx", "bx", "sp", "bp", "si", "di", *map(str, range(8, 16)))


def stub(name):
    """The code of what the kernel defines: return, or a jump to a register."""
    jump = re.fullmatch(r"__x86_indirect_thunk_r(\w+)", name)
    if not jump:
        return b"\xc3"
    number = REGISTERS.index(jump[1])
    return b"\x41" * (number > 7) + bytes((0xff, 0xe0 + number % 8))


class Image:
    """`parts` and `stubs` are to be written to memory: {address: bytes}. `symbols` and `sizes` are by name."""

    def __init__(self, path):
        self.symbols, self.sizes, self.functions, self.undefined = {}, {}, {}, {}
        with open(path, "rb") as file:
            elf = ELFFile(file)
            self.place(elf)
            self.relocate(elf, self.read_symbols(elf))
        self.parts = {self.bases[number]: bytes(part) for number, part in self.contents.items()}
        self.stubs = {address: stub(name) for name, address in self.undefined.items()}
        self.stubs_end = STUBS + STUB * (len(self.stubs) + 1)

    def place(self, elf):
        self.bases, self.contents, self.end = {}, {}, START
        for number, section in enumerate(elf.iter_sections()):
            if section["sh_flags"] & 2 and section["sh_size"]:
                align = max(section["sh_addralign"], 1)
                self.bases[number], self.contents[number] = -(-self.end // align) * align, bytearray(section.data())
                self.end = self.bases[number] + section["sh_size"]

    def read_symbols(self, elf):
        """Each symbol's value, in the table's order."""
        values = []
        for symbol in elf.get_section_by_name(".symtab").iter_symbols():
            section, name = symbol["st_shndx"], symbol.name
            if section == "SHN_UNDEF":
                values.append(self.undefined.setdefault(name, STUBS + STUB * len(self.undefined)))
                continue
            values.append(self.bases.get(section, 0) + symbol["st_value"])
            self.symbols[name], self.sizes[name] = values[-1], symbol["st_size"]
            if symbol["st_info"]["type"] == "STT_FUNC":
                self.functions[values[-1]] = name
        return values

    def relocate(self, elf, values):
        for section in elf.iter_sections():
            if not isinstance(section, RelocationSection) or section["sh_info"] not in self.bases:
                continue
            base, content = self.bases[section["sh_info"]], self.contents[section["sh_info"]]
            for entry in section.iter_relocations():
                offset, kind = entry["r_offset"], entry["r_info_type"]
                value = values[entry["r_info_sym"]] + entry["r_addend"] - (base + offset if kind in RELATIVE else 0)
                content[offset:offset + SIZES[kind]] = (value % (1 << 8 * SIZES[kind])).to_bytes(SIZES[kind], "little")

    def find(self, ending):
        """The addresses of the functions with names that match it."""
        return [address for address, name in self.functions.items() if re.search(ending, name) and not name.startswith("__pfx_")]
