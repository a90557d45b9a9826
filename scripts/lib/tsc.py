# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
"""The rate of this machine's time stamp counter, in kHz: QEMU's emulated CPUs have the same counter."""

import ctypes
import mmap
import time

# rdtsc; shl $32, %rdx; or %rdx, %rax; ret
RDTSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")
LOOKS = 20
NS = 100_000_000


def counter():
    """A function that reads it."""
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(RDTSC)
    start = ctypes.c_char.from_buffer(page)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(start))
    read.page = start  # which lives as long as it
    return read


def moment(ticks, clock):
    """The counter and the clock at the same time. Of some looks that which took least: others were interrupted."""
    looks = []
    for _ in range(LOOKS):
        before = clock()
        at = ticks()
        after = clock()
        looks.append((after - before, at, (before + after) / 2))
    return min(looks)[1:]


def khz(ticks, clock, sleep):
    """The counter's rate by a clock of nanoseconds."""
    ticks_0, ns_0 = moment(ticks, clock)
    sleep(NS / 1e9)
    ticks_1, ns_1 = moment(ticks, clock)
    return round((ticks_1 - ticks_0) * 1_000_000 / (ns_1 - ns_0))


if __name__ == "__main__":
    print(khz(counter(), lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW), time.sleep))
