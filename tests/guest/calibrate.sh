# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# calibrate.sh ROUNDS : raw_spin_lock under our harness and under the kernel's locktorture, which take turns, with the same
# numbers of writers and of steps. A row a run goes to `calibration`.
rounds=$1
# shellcheck source=tests/guest/verdict.sh
. /verdict
insmod /locktorture/torture.ko || exit 1
insmod /handover.ko experiment=none stat_interval=0 verbose=0 || exit 1
rows=/tmp/calibration
echo "round,harness,writers,cs_steps,ncs_steps,seconds,acquisitions" >$rows

ours() {
	echo "torture_type=raw_spin_lock nwriters_stress=$2 cs_steps=$3 ncs_steps=$4 duration=3 runs=1" >$debug/control || return 1
	await done 30 || return 1
	echo "$1,handover,$2,$3,$4,$(column seconds),$(column acquisitions)" >>$rows
}

# Its lines have the time at which they were written. The last is of when the writers had left.
theirs() {
	mark
	insmod /locktorture/locktorture.ko torture_type=raw_spin_lock nwriters_stress="$2" cs_steps="$3" ncs_steps="$4" \
		stat_interval=1 stutter=0 shuffle_interval=0 onoff_interval=0 long_hold=0 nested_locks=0 rt_boost=0 \
		call_rcu_chains=0 acq_writer_lim=0 || return 1
	usleep 4500000
	rmmod locktorture || return 1
	since | tr -d '\r' >/tmp/lines
	grep -q 'End of test: SUCCESS' /tmp/lines || { cat /tmp/lines; return 1; }
	sed -n 's/^\[ *\([0-9.]*\)\].* Writes:  Total: \([0-9]*\) .*/\1 \2/p' /tmp/lines | awk -v row="$1,locktorture,$2,$3,$4" '
		{ time[NR] = $1; count[NR] = $2 }
		END {
			if (NR < 4) { print NR " lines" >"/dev/stderr"; exit 1 }
			printf "%s,%.6f,%d\n", row, time[NR - 1] - time[1], count[NR - 1] - count[1]
		}' >>$rows
}

# Who is first, turns.
both() {
	for round in $(seq "$rounds"); do
		for point in "1 0 0" "1 20 400" "2 20 400"; do
			first=ours second=theirs
			[ $((round % 2)) -eq 1 ] || first=theirs second=ours
			# shellcheck disable=SC2086 # words
			$first $round $point && $second $round $point || return 1
		done
	done
}
verdict "both harnesses ran" both
tell_file calibration $rows
tell_file status $debug/status
verdict "unloaded" eval "rmmod handover && rmmod torture"
finish
