# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# What a run counts: the work is done, and nothing counts before all have begun. That it is done in its place is placed.sh's.
only=${1:-}
# shellcheck source=tests/guest/verdict.sh
. /verdict

# A thousand times the work, in the section or outside, costs at least 70 times the throughput: it is
# really done. (Seen: 85 to 324 times.) A host that is slow or stands still makes every figure less: of
# each the best of up to five.
worked() {
	few=0 inside=0 outside=0
	for _ in 1 2 3 4 5; do
		few=$(best $few 20 0) && inside=$(best $inside 20000 0) && outside=$(best $outside 0 40000) || return 1
		[ $inside -gt 0 ] && [ $outside -gt 0 ] && [ $few -gt $((inside * 70)) ] && [ $few -gt $((outside * 70)) ] && return
	done
	echo "20 steps: $few, 20000 steps: $inside, 40000 steps outside: $outside"
	return 1
}

# What writers acquire before all have begun does not count. On one CPU at 250 Hz a run of a second has fewer time slices
# than there are writers. So some writer has no share in it, although each acquired before.
uncounted() {
	for cpu in 1 2 3; do echo 0 >/sys/devices/system/cpu/cpu$cpu/online || return 1; done
	# (All warm up for seconds, in which one after the other acquires: nobody has stalled. On a busy host the run may end a second
	# late, which scripts/report/recount does not take, or two, which rows_hold does not: of three runs one is to end in time.)
	for _ in 1 2 3; do
		rc=0
		why=$(experiment 120 torture_type=twa nwriters_stress=1024 duration=1 runs=1 cs_steps=50000 ncs_steps=0 stall_secs=2) || rc=1
		case $why in *': '[3-9].*' s of 1' | *': '[1-9][0-9]*.*' s of 1') rmmod handover; continue ;; esac
		# (Nor may any writer begin for seconds, and the run is given up.)
		[ $rc -ne 0 ] || [ "$(rows)" -ne 0 ] || continue
		[ $rc -eq 0 ] && [ "$(column seconds /tmp/results | cut -d. -f1)" -gt 1 ] || break
	done
	for cpu in 1 2 3; do echo 1 >/sys/devices/system/cpu/cpu$cpu/online || return 1; done
	echo "$why"
	cat /tmp/results
	[ $rc -eq 0 ] && [ "$(rows)" -eq 1 ] && [ "$(failing)" -eq 0 ] && [ "$(idle)" -eq 1 ] &&
		[ "$(column acquisitions /tmp/results)" -gt 0 ]
}

verdict "the writers' work is done" worked
verdict "no acquisition of the warm-up counts" uncounted
# Rows of which some writers have nothing: scripts/report/recount judges them.
[ ! -e /tmp/writers ] || { tell_packed results /tmp/results && tell_packed writers /tmp/writers; }
finish
