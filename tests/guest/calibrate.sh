# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# calibrate.sh ROUNDS : raw_spin_lock under our harness and under the kernel's locktorture, which take turns. Both have the
# same number of writers, and the same steps. Then both have the same time: of our steps so many are taken for one of
# locktorture's as last as long, by what one writer did in the same round. A row a run goes to `calibration`.
rounds=$1
# shellcheck source=tests/guest/verdict.sh
. /verdict
insmod /locktorture/torture.ko || exit 1
insmod /handover.ko experiment=none stat_interval=0 verbose=0 || exit 1
rows=/tmp/calibration
echo "round,harness,same,writers,cs_steps,ncs_steps,times,seconds,acquisitions" >$rows

# as_long ROUND : how many of our steps last as long as one of locktorture's.
as_long() {
	awk -F, -v round="$1" '$1 == round && $3 == "steps" && $4 == 1 { time[$2, $5 > 0] = $8 / $9 }
		END {
			ours = time["handover", 1] - time["handover", 0]
			theirs = time["locktorture", 1] - time["locktorture", 0]
			if (ours <= 0 || theirs <= 0) exit 1
			printf "%.2f\n", theirs / ours
		}' $rows
}

# ours ROUND SAME WRITERS CS_STEPS NCS_STEPS TIMES : each step TIMES times. theirs has the same words.
ours() {
	# shellcheck disable=SC2046 # words
	set -- "$@" $(awk -v inside="$4" -v outside="$5" -v times="$6" 'BEGIN { printf "%d %d\n", inside * times + 0.5, outside * times + 0.5 }')
	echo "torture_type=raw_spin_lock nwriters_stress=$3 cs_steps=$7 ncs_steps=$8 duration=3 runs=1" >$debug/control || return 1
	await done 30 || return 1
	echo "$1,handover,$2,$3,$4,$5,$6,$(column seconds),$(column acquisitions)" >>$rows
}

# Its lines have the time at which they were written. The last is of when the writers had left.
theirs() {
	mark
	insmod /locktorture/locktorture.ko torture_type=raw_spin_lock nwriters_stress="$3" cs_steps="$4" ncs_steps="$5" \
		stat_interval=1 stutter=0 shuffle_interval=0 onoff_interval=0 long_hold=0 nested_locks=0 rt_boost=0 \
		call_rcu_chains=0 acq_writer_lim=0 || return 1
	usleep 4500000
	rmmod locktorture || return 1
	since | tr -d '\r' >/tmp/lines
	grep -q 'End of test: SUCCESS' /tmp/lines || { cat /tmp/lines; return 1; }
	sed -n 's/^\[ *\([0-9.]*\)\].* Writes:  Total: \([0-9]*\) .*/\1 \2/p' /tmp/lines | awk -v row="$1,locktorture,$2,$3,$4,$5,$6" '
		{ time[NR] = $1; count[NR] = $2 }
		END {
			if (NR < 4) { print NR " lines" >"/dev/stderr"; exit 1 }
			printf "%s,%.6f,%d\n", row, time[NR - 1] - time[1], count[NR - 1] - count[1]
		}' >>$rows
}

# Who is first, turns.
both() {
	for round in $(seq "$rounds"); do
		for point in "steps 1 0 0" "steps 1 20 400" "steps 2 20 400" "time 1 20 400" "time 2 20 400"; do
			first=ours second=theirs times=1
			[ $((round % 2)) -eq 1 ] || first=theirs second=ours
			case $point in time*) times=$(as_long $round) || { cat $rows; return 1; } ;; esac
			# shellcheck disable=SC2086 # words
			$first $round $point $times && $second $round $point $times || return 1
		done
	done
}
verdict "both harnesses ran" both
tell_file calibration $rows
tell_file status $debug/status
verdict "unloaded" eval "rmmod handover && rmmod torture"
finish
