# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# Nothing that the module allocated is left behind: the kernel's kmemleak looks,
# after experiments that ended, that were stopped and that were removed.
# shellcheck source=tests/guest/verdict.sh
. /verdict

# stopped_in WORD... : an experiment of one run, which is stopped in its measured time, after three seconds of it.
stopped_in() {
	echo "runs=1 $*" >$debug/control || return 1
	i=0
	until grep -q '^now: .* \([3-9]\|[1-9][0-9]\)[.][0-9]* s of' $debug/status; do
		i=$((i + 1))
		[ $i -lt 600 ] || { cat $debug/status; return 1; }
		usleep 100000
	done
	echo stop >$debug/control && await stopped 200
}

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
	stopped_in torture_type=twa nwriters_stress=4 duration=60 latency=1 nlocks=2 nested_locks=2 || return 1
	[ "$(did locks) $(tail -n +2 $debug/latency | wc -l)" = "2 10" ] || { cat $debug/results $debug/latency; return 1; }
	stopped_in torture_type=twa_irq nwriters_stress=4 duration=60 irq_interval=2000 stutter=1 shuffle_interval=1 onoff_interval=1 bind_writers=0-3 || return 1
	for name in irqs pauses shuffles offlines; do
		[ "$(did $name)" -gt 0 ] || { echo "no $name"; cat $debug/results; return 1; }
	done
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
