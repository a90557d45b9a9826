# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# mutant.sh LOCKS RUNS WORDS CHECK... : each check alone on LOCKS, up to RUNS runs of a
# second. WORDS are parameters with + between them, or -. As soon as one finds the bug that was planted: exit 10 if the lock hangs,
# 0 if it does not. Exit 3 if none finds it.
# shellcheck source=tests/guest/verdict.sh
. /verdict
locks=$1 runs=$2 words=$(echo "${3#-}" | tr + ' ')
shift 3
# Under PREEMPT_RT who sleeps on a CPU that then hangs stays there: this shell is on others.
case $words in *bind_writers=0-3*) taskset -p 30 $$ >/dev/null || exit 11 ;; esac

# The kernel stops all CPUs once when it changes to this clock, which init waited for; with
# writers that hang it would wait for them for ever, and so would everybody else.
i=0
clock=/sys/devices/system/clocksource/clocksource0
until [ "$(cat $clock/current_clocksource)" = tsc ]; do
	i=$((i + 1))
	[ $i -le 60 ] || {
		echo "after $i s the clock is $(cat $clock/current_clocksource), of $(cat $clock/available_clocksource)"
		dmesg | grep -i -e tsc -e clocksource
		exit 6
	}
	sleep 1
done

# caught COLUMN : a run failed by it.
caught() {
	[ "$(awk -F, -v column="$1" 'NR > 1 && $column != 0' $debug/results | wc -l)" -gt 0 ]
}

# found CHECK
found() {
	# shellcheck disable=SC2086 # words
	insmod /handover.ko torture_type="$locks" nwriters_stress=4 checks="$1" duration=1 runs="$runs" \
		stall_secs=3 verbose=1 $words || exit 2
	case $1 in
	owner) column=9 ;;
	counter) column=10 ;;
	order) column=11 ;;
	progress) column=12 ;;
	esac
	i=0
	while grep -q '^state: running' $debug/status && [ $i -lt 60 ] && ! caught $column; do
		sleep 1
		i=$((i + 1))
	done
	# The state is to be told apart: a lock that hangs stays so, any other stops.
	echo stop 2>/dev/null >$debug/control
	while grep -q '^state: running' $debug/status && [ $i -lt 60 ]; do
		sleep 1
		i=$((i + 1))
	done
	cat $debug/status $debug/results
	caught $column
}

for check; do
	if found "$check"; then
		# The module must not go while a writer spins in it.
		if grep -q '^state: hung' $debug/status; then
			rmmod handover && exit 4
			# A run of which a writer hangs has a row of times like any other.
			case $words in *latency=1*)
				[ "$(awk -F, '$4 == "all" && $5 == "wait"' $debug/latency | wc -l)" -eq "$(tail -n +2 $debug/results | wc -l)" ] || exit 8
				;;
			esac
			# Its row has as many of them as the log, and what one of them did not count is no failure of the counter.
			many=$(dmesg | sed -n 's/.*handover: [^ ]*: \([1-9][0-9]*\) writers hang and cannot be stopped.*/\1/p' | tail -n 1)
			[ "$(column hung | tail -n 1) $(column counter_failures | tail -n 1)" = "${many:-?} 0" ] || exit 9
			for words in torture_type=ticket stop; do
				said=$( (echo $words >$debug/control) 2>&1) && exit 5
				case $said in *"resource busy"*) ;; *) echo "$said" && exit 5 ;; esac
			done
			echo "mutant: the lock hangs, and the module stays" >/dev/kmsg
			exit 10
		fi
		exit 0
	fi
	rmmod handover || exit 7
done
exit 3
