# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# Torture where lockdep looks on. A lock class is of the kind of its first lock: our locks and raw_spin_lock() spin on every
# kernel, and spin_lock() does not. So each kind begins with a class of its own, before all locks come.
# shellcheck source=tests/guest/verdict.sh
. /verdict

ran() { echo "nwriters_stress=2 duration=1 runs=1 $*" >$debug/control && await done 60; }

insmod /handover.ko experiment=none stat_interval=0 || exit 1
verdict "raw locks nest" ran torture_type=twa nested_locks=1
verdict "spin_lock nests deeper" ran torture_type=spin_lock nested_locks=2
verdict "all locks nest" ran torture_type=all nested_locks=8 nlocks=2 try_lock=1
tell_file results $debug/results
tell_file summary $debug/summary
verdict "unloaded" rmmod handover
finish
