# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# Nothing that the module allocated is left behind: the kernel's kmemleak looks,
# after experiments that ended, that were stopped and that were removed.
# shellcheck source=tests/guest/verdict.sh
. /verdict

# This needs slab_debug on the command line: without it SLUB keeps the address of
# each object that it hands out in its per-CPU sheaves, which are scanned, too.
kept() {
	grep -q slab_debug=FZP /proc/cmdline || { echo "not with slab_debug=FZP"; return 1; }
	echo clear >$leak || return 1
	# (Other guests run beside this slow one: of some experiments one is to end in time. What all leave behind counts.)
	for _ in 1 2 3 4; do
		insmod /handover.ko torture_type=all nwriters_stress=1,4 duration=1 runs=1 || return 1
		why=$(await done 600) && break
		rmmod handover
	done
	[ -d /sys/module/handover ] || { echo "$why"; return 1; }
	echo "torture_type=twa nwriters_stress=4 duration=60 latency=1 nlocks=2 nested_locks=2" >$debug/control || return 1
	echo stop >$debug/control || return 1
	await stopped 200 || return 1
	echo "torture_type=twa_irq nwriters_stress=4 duration=60 irq_interval=2000 stutter=1 shuffle_interval=1 onoff_interval=1 bind_writers=0-3" >$debug/control || return 1
	i=0
	until [ $i -ge 200 ] || grep -q '^now: .* [3-9][.0-9]* s of' $debug/status; do
		i=$((i + 1))
		usleep 100000
	done
	echo stop >$debug/control || return 1
	await stopped 200 || return 1
	# Requests that are refused.
	for _ in 1 2 3 4 5 6 7 8; do ! echo "torture_type=twa runs=0" 2>/dev/null >$debug/control || return 1; done
	echo "experiment=uncontended runs=2" >$debug/control || return 1
	await done 600 || return 1
	rmmod handover || return 1
	insmod /handover.ko nwriters_stress=4 || return 1
	rmmod handover || return 1
	insmod /handover.ko runs=0 2>/dev/null && return 1
	found=$(unreferenced) || { echo "kmemleak does not look"; return 1; }
	[ -z "$found" ] || { echo "$found"; return 1; }
}

verdict "kmemleak finds nothing" kept
finish
