# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# Parameters and debugfs: what is refused and how, control, status, results.
only=${1:-}
# shellcheck source=tests/guest/verdict.sh
. /verdict

# allowed PARAMETER : what a complaint says is allowed, of those that are numbers: a pattern.
allowed() {
	case $1 in
	cs_steps | ncs_steps) echo "0 to 1000000" ;;
	duration) echo "0 (until stopped) to 86400 seconds" ;;
	runs) echo "1 to 1000" ;;
	stat_interval) echo "0 (none) to 3600 seconds" ;;
	verbose) echo "0 or 1" ;;
	seed) echo "0 (to be drawn) to 18446744073709551615" ;;
	stall_secs) echo "1 to 600 seconds" ;;
	long_hold) echo "0 (none) to 500 milliseconds" ;;
	nested_locks) echo "0 (none) to 8" ;;
	rt_boost) echo "0 (none) or 2 (of any lock's writers)" ;;
	acq_writer_lim) echo "0 (none) to 1000000 jiffies" ;;
	nlocks) echo "1 to 64" ;;
	irq_interval) echo "0?*" ;;
	*) echo "?*" ;;
	esac
}

# refused PARAMETER VALUE : insmod fails with EINVAL, one line says why and what is allowed.
refused() {
	mark
	out=$(insmod /handover.ko "$1=$2" 2>&1) && { rmmod handover; echo "loaded"; return 1; }
	case $out in *"Invalid argument"* | *"invalid parameter"*) ;; *) echo "$out"; return 1 ;; esac
	# One line a load. (busybox's insmod loads twice if the first time fails.)
	said=$(since | sed -n 's/.*\(handover: .*\)/\1/p' | grep -v taint | sort -u)
	# shellcheck disable=SC2254 # a pattern
	case $said in
	*"
"*) echo "$said"; return 1 ;;
	"handover: $1=$2: allowed: "$(allowed "$1")) ;;
	*) echo "said: $said"; return 1 ;;
	esac
	[ ! -e $debug ] || { echo "debugfs is left"; return 1; }
}

# said ERRNO-TEXT WORDS... : control refuses them so, and the state stays.
said() {
	before=$(kept)
	text=$1
	shift
	out=$( (echo "$*" >$debug/control) 2>&1) && { echo "taken: $*"; return 1; }
	case $out in *"$text"*) ;; *) echo "$out"; return 1 ;; esac
	[ "$(kept)" = "$before" ] || { echo "$before became $(kept)"; return 1; }
}
# kept : what a refused request leaves as it is: the state and, where nothing runs, all that was measured.
kept() {
	grep -E '^(state|runs):' $debug/status
	grep -q '^state: running' $debug/status || for file in results writers latency uncontended summary; do md5sum $debug/$file; done
}

# A request of 512 bytes is taken whole. One more byte, and it is refused, whatever its words are.
too_much() {
	words="torture_type=twa nwriters_stress=1 duration=1 runs=2"
	mark
	out=$( (echo "$(printf '%-512s' "$words")" >$debug/control) 2>&1) && { echo "513 bytes were taken"; return 1; }
	case $out in *"Invalid argument"*) ;; *) echo "$out"; return 1 ;; esac
	since | grep -q 'handover: control: at most 512 bytes$' || { since; return 1; }
	! grep -q '^state: running' $debug/status && ! since | grep -q 'Start of test' || { cat $debug/status; return 1; }
	echo "$(printf '%-505sruns=3' "$words")" >$debug/control || return 1
	await done 20 || return 1
	[ "$(column run | paste -sd' ')" = "1 2 3" ] || { cat $debug/results; return 1; }
}

# Words may be on several lines of one request, which are all read.
of_lines() {
	printf '\ntorture_type=twa nwriters_stress=1\nduration=1\n\n runs=2\n' >/tmp/words
	dd if=/tmp/words of=$debug/control bs=512 2>/dev/null && await done 20 || return 1
	[ "$(column run | paste -sd' ')" = "1 2" ] || { cat $debug/results; return 1; }
	why=$(said "Invalid argument" "$(printf 'torture_type=twa duration=1\nruns=x')") || { echo "$why"; return 1; }
}

# A line each second, of what came since; none where none is asked for.
lines() {
	# By themselves, however little else is said.
	for every in 1 0; do
		mark
		echo "torture_type=twa nwriters_stress=2 duration=5 runs=1 bind_writers=1 stat_interval=$every verbose=$((1 - every))" >$debug/control || return 1
		await done 20 || return 1
		since | sed -n 's/.*handover: twa with 2 writers, run 1 of 1: \([0-9.]*\) s of 5 s, \([0-9]*\) acquisitions$/\1 \2/p' >/tmp/lines
		# The first comes so long after the experiment's begin, of which the run's is later. At the run's end there may be one.
		least=$((every * 3)) most=$((every * 6))
		count=$(wc -l </tmp/lines)
		[ "$count" -ge $least ] && [ "$count" -le $most ] || { echo "every $every s: $count lines: $(cat /tmp/lines)"; return 1; }
		# (The first look may be at the very begin, when nothing was acquired.)
		awk -v every=$every 'NR > 1 && $1 < last + every - 0.2 || (NR > 1 || $1 > 0.1) && $2 <= sum { print "every " every " s: " $0; exit 1 } { last = $1; sum = $2 }' /tmp/lines || return 1
		# It is of all writers: never more than the row has in the end, and some line's rate is about the row's.
		awk -v every=$every -v all="$(column acquisitions)" -v seconds="$(column seconds)" '
			$2 > all { print; exit bad = 1 } $1 > 0.5 && $2 / $1 > 0.75 * all / seconds { is = 1 }
			END { exit bad || every && !is }' /tmp/lines || { cat /tmp/lines $debug/results; return 1; }
	done
	# None is due before its time.
	mark
	echo "torture_type=twa nwriters_stress=1 duration=2 runs=1 stat_interval=10" >$debug/control && await done 20 || return 1
	! since | grep 'with 1 writers, run 1 of 1: .* acquisitions$' || return 1
}

# A byte that is of no character; and none of it in what is said.
no_text() {
	why=$(said "Invalid argument" "$(printf 'runs=1 \377')") || { echo "$why" | tr -cd ' -~'; return 1; }
}

# The same at insmod.
no_text_loads() {
	out=$(insmod /handover.ko "torture_type=$(printf 'twa\377')" 2>&1) && { rmmod handover; echo "loaded"; return 1; }
	case $out in *"Invalid argument"*) ;; *) echo "$out" | tr -cd ' -~'; return 1 ;; esac
	out=$(insmod /handover.ko duration=1 "checks=$(printf '\377')" 2>&1) && { rmmod handover; echo "loaded"; return 1; }
	case $out in *"Invalid argument"*) ;; *) echo "$out" | tr -cd ' -~'; return 1 ;; esac
}

# Started by control, with insmod's values where no word says otherwise.
restarted() {
	echo "torture_type=ticket nwriters_stress=1,2 runs=2" >$debug/control || return 1
	await done 20 || return 1
	[ "$(tail -n +2 $debug/results | wc -l)" -eq 4 ] || { cat $debug/results; return 1; }
	[ "$(grep -c '^ticket,[12],[12],1\.' $debug/results)" -eq 4 ] || { cat $debug/results; return 1; }
}

# A reader in the middle of an experiment gets whole rows, ever more of them.
whole() {
	echo "torture_type=all nwriters_stress=1,2 runs=1" >$debug/control || return 1
	header=$(head -n 1 $debug/results)
	columns=$(echo "$header" | tr ',' '\n' | wc -l)
	last=0
	while grep -q '^state: running' $debug/status; do
		rows=$(awk -F, -v n="$columns" 'NF != n { print "torn: " $0; exit 1 } END { print NR - 1 }' \
			$debug/results) || { echo "$rows"; return 1; }
		[ "$rows" -ge "$last" ] || { echo "$last rows became $rows"; return 1; }
		last=$rows
	done
	[ "$(tail -n +2 $debug/results | wc -l)" -eq $(($(locks lock | wc -l) * 2)) ] || { cat $debug/results; return 1; }
	# The time is what it was, which is none of whole seconds.
	column seconds | grep -vq '[.]000000$' || { column seconds; return 1; }
	head -n 1 $debug/results | grep -q '^lock,writers,run,seconds,acquisitions,min,max,failures' ||
		{ echo "$header"; return 1; }
}

# EBUSY while one runs, and the log says which; stop stops it soon, and what was measured is kept.
busy() {
	mark
	echo "torture_type=twa nwriters_stress=2 runs=3 duration=60" >$debug/control || return 1
	said "Device or resource busy" "torture_type=ticket" || return 1
	since | grep -q 'handover: control: busy: experiment=torture torture_type=twa nwriters_stress=2 ' || { since; return 1; }
	echo stop >$debug/control || return 1
	await stopped 10 || return 1
	restarted
}

# What insmod did not say is drawn for each experiment.
draws() {
	seeds=''
	for _ in 1 2 3; do
		echo "torture_type=twa nwriters_stress=1 duration=1 runs=1" >$debug/control && await done 20 || return 1
		seeds="$seeds $(column seed)"
	done
	[ "$(echo "$seeds" | tr ' ' '\n' | grep . | sort -u | wc -l)" -eq 3 ] || { echo "$seeds"; return 1; }
}

# Where a run stands among those of its point, of which this experiment has four.
positions() {
	echo "torture_type=ticket,twa nwriters_stress=1,2 duration=1 runs=2" >$debug/control || return 1
	: >/tmp/seen
	while grep -q '^state: running' $debug/status; do
		# Of the runs that have a row, none runs.
		over=$(awk -F, 'NR > 1 { print $1 " with " $2 " writers, run " $3 " of 2" }' $debug/results)
		now=$(sed -n 's/^now: \(.*run [0-9]* of [0-9]*\).*/\1/p' $debug/status)
		[ -z "$now" ] || ! echo "$over" | grep -qxF "$now" || { echo "over: $now"; return 1; }
		echo "$now" | grep -o 'run .*' >>/tmp/seen
		usleep 10000
	done
	await done 20 || return 1
	[ "$(sort -u /tmp/seen | paste -sd,)" = "run 1 of 2,run 2 of 2" ] || { sort -u /tmp/seen; return 1; }
	# From one run to the next another lock is the first.
	[ "$(awk -F, 'NR > 1 { print $3 $2 $1 }' $debug/results | paste -sd' ')" = \
		"11ticket 11twa 12ticket 12twa 21twa 21ticket 22twa 22ticket" ] || { cat $debug/results; return 1; }
}

# Stopped between runs or in one: the rows of those that are over stay. The table has a row of each lock's, also where one
# had more runs than another. (Of some tries one must stop there.)
stopped_rows() {
	for _ in 1 2 3 4 5; do
		mark
		echo "torture_type=twa,ticket,raw_spin_lock nwriters_stress=2 runs=50 duration=1" >$debug/control || return 1
		rows_come 4 || return 1
		echo stop >$debug/control || return 1
		await stopped 10 || return 1
		rows=$(tail -n +2 $debug/results | wc -l)
		[ "$rows" -ge 4 ] && [ "$rows" -lt 150 ] || { cat $debug/results; return 1; }
		grep -q "^runs: $rows of 150" $debug/status || { cat $debug/status; return 1; }
		since | grep -q "handover: --- End of test: SUCCESS: $rows of 150 runs, stopped\$" || { since; return 1; }
		tail -n +2 $debug/results | awk -F, '{ runs[$1 " " $2]++ } END { for (point in runs) print point, runs[point] }' | sort >/tmp/due
		awk '$1 ~ /^(twa|ticket|raw_spin_lock)$/ && $2 == 2 { print $1, $2, $3 }' $debug/summary | sort >/tmp/tabled
		cmp /tmp/due /tmp/tabled || { cat /tmp/due $debug/summary; return 1; }
		[ $((rows % 3)) -eq 0 ] || return 0
	done
	echo "each was stopped after whole rounds"
	return 1
}

# duration=0 runs until it is stopped.
endless() {
	mark
	echo "torture_type=twa,ticket nwriters_stress=1,2 duration=0" >$debug/control || return 1
	since | grep -q 'handover: duration=0: only twa with 1 writers runs, until it is stopped$' || { since; return 1; }
	sleep 3
	grep -q '^state: running' $debug/status || { cat $debug/status; return 1; }
	echo stop >$debug/control
	await stopped 10
}

summary() {
	for word in median/s ratio max/min Jain failures kernel= RUST_INLINE_HELPERS= hypervisor_bit= \
		spinlock_slow_path= spoiled_by= seed= cpus= HZ= preempt= smt= numa_nodes= mitigations= governor= tracers=; do
		grep -q -- "$word" $debug/summary || { echo "no $word"; cat $debug/summary; return 1; }
	done
	for lock in $(locks); do
		grep -q "^$lock " $debug/locks || { echo "no $lock"; cat $debug/locks; return 1; }
	done
	# Each in words of its own.
	awk '{ $1 = ""; if (NF < 4 || said[$0]++) exit 1 }' $debug/locks || { cat $debug/locks; return 1; }
}

root_only() {
	for file in control:200 status:400 results:400 writers:400 summary:400 locks:400 latency:400 uncontended:400; do
		mode=$(stat -c %a $debug/${file%:*})
		[ "$mode" = "${file#*:}" ] || { echo "$file is $mode"; return 1; }
	done
}

# dmesg: a line a run as locktorture's, the table, the end.
logged() {
	since | grep -q 'handover: twa-torture: Writes:  Total: [0-9]*  Max/Min: [0-9]*/[0-9]* .* Fail: 0' &&
		since | grep -q 'handover: --- End of test: SUCCESS: 1 of 1 runs$' &&
		since | grep -q 'handover: --- Start of test: kernel=' && ! since | grep 'handover: .*: failures:' || { since; return 1; }
	# This kernel's locktorture takes no locks of others, which is no fault.
	! dmesg | grep 'handover: locktorture'
}

# verbose=0: the log has the start, the facts at the end, the end, and the workload next to each.
quiet() {
	mark
	echo "torture_type=twa nwriters_stress=1,2 duration=1 runs=1 verbose=0" >$debug/control || return 1
	await done 20 || return 1
	little || return 1
	# As little of pairs.
	mark
	echo "experiment=uncontended torture_type=twa runs=2 verbose=0" >$debug/control || return 1
	await done 60 && little
}
little() { [ "$(since | sed -n 's/.*handover: //p' | sed 's/^\(--- [A-Z][a-z]*\|[^ ]*\) .*/\1/' | paste -sd' ')" = "--- Start workload: facts: workload: --- End" ] || { since; return 1; }; }

# The log's buffer has about 4096 lines. (What is said at level 7 does not come to the console.)
say_lines() { awk -v lines="$1" 'BEGIN { for (i = 1; i <= lines; i++) { print "<7>line " i >"/dev/kmsg"; fflush("/dev/kmsg") } }'; }
log_is_full() {
	echo on >/proc/sys/kernel/printk_devkmsg || return 1
	say_lines 9000
	[ "$(dmesg | wc -l)" -lt 9000 ] || { echo "the buffer has $(dmesg | wc -l) lines"; return 1; }
	mark
	say_lines 3
	[ "$(since | sed 's/.*\] //' | paste -sd,)" = "line 1,line 2,line 3" ] || { echo "after the mark: $(since | wc -l) lines: $(since | tail -n 5)"; return 1; }
	say_lines 9000
	[ "$(since | tail -n 1 | sed 's/.*\] //')" = "line 9000" ] || { echo "after the mark: $(since | wc -l) lines: $(since | tail -n 5)"; return 1; }
}

# Odd values, read back wherever results are: as a line that status, summary and, at start and end, the log have; as
# columns of every row. While it runs as afterwards, and the next experiment has its own.
workload() {
	mark
	odd="cs_steps=77 ncs_steps=13 checks=owner,progress duration=2 runs=2 stall_secs=9 seed=4711"
	due="workload: experiment=torture torture_type=ticket,raw_spin_lock nwriters_stress=1,3 $odd nice=19"
	echo "torture_type=ticket,raw_spin_lock nwriters_stress=1,3 $odd" >$debug/control || return 1
	grep -qxF "$due" $debug/status || { cat $debug/status; return 1; }
	await done 60 || return 1
	for file in status summary; do grep -qxF "$due" $debug/$file || { cat $debug/$file; return 1; }; done
	# Directly after the start, and directly before the end.
	found=$(since | grep 'handover: ' | grep -v Writes: | sed 's/.*handover: //' |
		awk -v due="$due" '/^--- End/ && last == due { print "end" } /^--- Start/ { start = NR }
			$0 == due && start && NR == start + 1 { print "start" } { last = $0 }' | paste -sd' ')
	[ "$found" = "start end" ] || { since; return 1; }
	columns=$(for name in cs_steps ncs_steps checks duration stall_secs seed nice; do column $name | sort -u; done | paste -sd' ')
	[ "$columns" = "77 13 owner+progress 2 9 4711 19" ] || { echo "$columns"; return 1; }
	[ "$(column seconds | cut -d. -f1 | sort -u)" = 2 ] || { cat $debug/results; return 1; }
	echo "torture_type=twa nwriters_stress=1 runs=1 checks=none seed=12" >$debug/control || return 1
	await done 20 || return 1
	[ "$(column checks) $(column cs_steps) $(column seed)" = "none 20 12" ] || { cat $debug/results; return 1; }
	grep -q '^workload: .* cs_steps=20 .* checks=none .* seed=12 ' $debug/summary || { cat $debug/summary; return 1; }
}

# Writers: a sweep by default, whatever CPUs there are; -1 is twice the CPUs, as locktorture's.
sweep() {
	echo "torture_type=ticket nwriters_stress=sweep duration=1 runs=1" >$debug/control || return 1
	await done 20 || return 1
	[ "$(column writers | paste -sd' ')" = "1 2 4" ] || { cat $debug/results; return 1; }
	echo 0 >/sys/devices/system/cpu/cpu3/online || return 1
	echo "torture_type=ticket nwriters_stress=sweep duration=1 runs=1" >$debug/control && await done 20
	rc="$? $(column writers | paste -sd' ')"
	echo "torture_type=ticket nwriters_stress=-1 duration=1 runs=1" >$debug/control && await done 20
	rc="$rc $? $(column writers | paste -sd' ')"
	echo 1 >/sys/devices/system/cpu/cpu3/online
	[ "$rc" = "0 1 2 3 0 6" ] || { cat $debug/results; return 1; }
}

bare() {
	insmod /handover.ko || return 1
	# Under PREEMPT_RT there is no spin_lock.
	types=twa,ticket,spin_lock,raw_spin_lock
	! is_rt || types=twa,ticket,raw_spin_lock
	grep -qE "^workload: experiment=torture torture_type=$types"' nwriters_stress=1,2,4 cs_steps=20 ncs_steps=400 checks=owner,counter,order,progress duration=30 runs=7 stall_secs=10 seed=[1-9][0-9]* nice=19$' \
		$debug/status || { cat $debug/status; return 1; }
	rmmod handover || return 1
	# What is around a word of insmod is none of it.
	insmod /handover.ko 'runs=" 2 "' || { dmesg | tail -n 3; return 1; }
	grep -q '^workload: .* runs=2 ' $debug/status || { cat $debug/status; return 1; }
	rmmod handover
}

# failed WHY : the state says it, and the log's last word is FAILURE.
failed() {
	await failed 30 || return 1
	[ "$(sed -n 's/^state: //p' $debug/status)" = "failed: $1" ] || { cat $debug/status; return 1; }
	since | grep 'handover: --- End' | tail -n 1 | grep -qF "FAILURE: $2: $1" || { since; return 1; }
	# A word that comes afterwards changes nothing.
	echo stop >$debug/control
	[ "$(sed -n 's/^state: //p' $debug/status)" = "failed: $1" ] || { cat $debug/status; return 1; }
}

fails_checks() {
	mark
	echo "torture_type=busted,twa nwriters_stress=2 runs=1 duration=1" >$debug/control || return 1
	failed "busted failed its checks" "2 of 2 runs"
}

# What went wrong is an error in the log: that a lock failed, that the experiment did, and that a request is refused. All else
# that this says is none.
errors_alone() {
	mark
	echo "torture_type=busted,twa nwriters_stress=2 runs=1 duration=1" >$debug/control && await failed 20 || return 1
	! (echo runs=0 >$debug/control) 2>/dev/null || { echo "runs=0 is taken"; return 1; }
	dmesg -r | sed -n 's/^<3>//p' >/tmp/errors
	since | grep 'handover: ' | awk '
		NR == FNR { is_error[$0]; next }
		{ due = /: failures: |FAILURE: |allowed: /; all += due; if (due != ($0 in is_error)) { print; bad = 1 } }
		END { exit bad || all != 3 }' /tmp/errors - || { cat /tmp/errors; return 1; }
}

# settled : the state is not 'running'. Asked without a process, which this shell could not make while threads lack.
settled() {
	while read -r key value; do
		[ "$key" != state: ] || case $value in running*) return 1 ;; *) return 0 ;; esac
	done <$debug/status
	return 1
}

# The kernel makes no more threads than it is told.
fails_threads() {
	mark
	most=$(cat /proc/sys/kernel/threads-max)
	read -r _ _ _ now _ </proc/loadavg
	echo $((${now#*/} + 60)) >/proc/sys/kernel/threads-max || return 1
	echo "torture_type=twa nwriters_stress=1,999 runs=1 duration=1" >$debug/control || return 1
	until settled; do :; done
	echo "$most" >/proc/sys/kernel/threads-max
	failed "given up: $(errname EAGAIN 11)" "1 of 2 runs" || return 1
	! cat /proc/[0-9]*/comm 2>/dev/null | grep ho_writer || return 1
}

# With threads for the writers and not for those that perturb them: with each limit of some, nothing is left. An experiment that
# was given up while no writer lacked its thread is one of these; there must be one.
fails_jobs() {
	most=$(cat /proc/sys/kernel/threads-max)
	found=0
	for more in 19 20 21 22 23 24 19 20 21 22 23 24; do
		mark
		read -r _ _ _ now _ </proc/loadavg
		echo $((${now#*/} + more)) >/proc/sys/kernel/threads-max || return 1
		echo "torture_type=twa nwriters_stress=20 runs=1 duration=1 stutter=1 shuffle_interval=1 onoff_interval=1" >$debug/control &&
			until settled; do :; done
		echo "$most" >/proc/sys/kernel/threads-max
		await '[df]' 20 || return 1
		# (A thread that was stopped may be there for a moment.)
		for _ in 1 2 3 4 5 6 7 8 9 10; do
			left=$(cat /proc/[0-9]*/comm 2>/dev/null | grep ho_ | grep -v ho_control)
			[ -n "$left" ] || break
			usleep 100000
		done
		[ -z "$left" ] || { echo "with $more: $left"; return 1; }
		! grep -q '^state: failed: given up' $debug/status || since | grep -q 'no kthread for writer' || found=$((found + 1))
		[ "$more" -lt 24 ] || [ $found -eq 0 ] || break
	done
	[ $found -gt 0 ] || { echo "no limit between"; return 1; }
}

# A stop that comes when the last run is over has stopped nothing. Many writers leave one by one, so that
# there is a while between a run's last moment and the experiment's end. Whatever the moment: stopped is what lacks
# a run or some of a run's time, done is the rest.
late_stop() {
	i=0
	while [ $i -lt 8 ]; do
		echo "torture_type=ticket nwriters_stress=48 runs=1 duration=1 cs_steps=1000 checks=none" >$debug/control || return 1
		# (Where this shell gets no look at it, the run is over, and all the same is due.)
		until grep -q '^now: .*: [0-9.]* s of' $debug/status || ! grep -q '^state: running' $debug/status; do usleep 20000; done
		# Before the run's end; then as soon as a writer has left, while others have not.
		if [ $i -lt 3 ]; then
			usleep $((700000 + i * 100000))
		else
			until cat /proc/[0-9]*/stat 2>/dev/null | grep -q '(ho_writer/[0-9]*) S' ||
				! grep -q '^state: running' $debug/status; do :; done
		fi
		echo stop >$debug/control
		while grep -q '^state: running' $debug/status; do usleep 20000; done
		state=$(sed -n 's/^state: //p' $debug/status)
		due=$(column seconds | awk '{ n++; less += $1 < 1 } END { print n == 1 && !less ? "done" : "stopped" }')
		[ "$state" = "$due" ] || { echo "$state, where $due was due:"; cat $debug/status $debug/results; return 1; }
		rows_hold || { cat $debug/results $debug/writers; return 1; }
		i=$((i + 1))
	done
}

# The rows' times are nearly all of the experiment's, by another clock. (Of some experiments one is to show it. The first round,
# which is not measured, and the facts take the rest.)
whole_time() {
	for _ in 1 2 3 4 5; do
		read -r from _ </proc/uptime
		echo "experiment=uncontended torture_type=twa runs=100" >$debug/control || return 1
		while grep -q '^state: running' $debug/status; do usleep 20000; done
		read -r now _ </proc/uptime
		part=$(awk -F, -v from="$from" -v now="$now" 'NR > 1 { sum += $6 } END { printf "%d\n", sum / 1e7 / (now - from) }' $debug/uncontended)
		[ "$part" -le 100 ] || break
		[ "$part" -lt 70 ] || return 0
	done
	echo "rows of $part % of the time"
	return 1
}

# Lone pairs of what was asked for, and of that alone.
uncontended() {
	other=spin_lock shape=bound
	! is_rt || { other=raw_spin_lock && shape=called; }
	mark
	echo "experiment=uncontended torture_type=ticket,$other runs=2" >$debug/control || return 1
	await done 60 || return 1
	# The log has each row as a rate.
	due=$(awk -F, 'NR > 1 { print $1 " (" $2 ", " $3 "): " int($5 * 1000000 / int($6 / 1000)) " pairs/s" }' $debug/uncontended | sort)
	[ "$(since | sed -n 's/.*handover: uncontended //p' | grep pairs/s | sort)" = "$due" ] || { since; echo "$due"; return 1; }
	# It has no table of writers.
	! since | grep 'median/s\|steal time' || return 1
	rows=$(tail -n +2 $debug/uncontended | cut -d, -f1-4 | sort | paste -sd' ')
	[ "$rows" = "$other,$shape,far,1 $other,$shape,far,2 $other,$shape,near,1 $other,$shape,near,2 \
ticket,inlined,far,1 ticket,inlined,far,2 ticket,inlined,near,1 ticket,inlined,near,2" ] || { cat $debug/uncontended; return 1; }
	pairs=$(sed -n "s/^workload: experiment=uncontended torture_type=ticket,$other runs=2 pairs=//p" $debug/summary)
	[ "$(column pairs $debug/uncontended | sort -u)" = "$pairs" ] || { cat $debug/summary; return 1; }
	[ "$(grep -c '^ticket,inlined,[a-z]*,[12],' $debug/summary)" -eq 4 ] || { cat $debug/summary; return 1; }
	# In each run another lock is the first, and the other layout.
	# It has no duration, so that 0 has no meaning.
	echo "experiment=uncontended torture_type=mcs,twa,ticket runs=5 duration=0" >$debug/control && await done 60 || return 1
	# shellcheck disable=SC2016 # awk's
	awk -F, '
		BEGIN { split("twa ticket mcs", lock, " "); split("near far", layout, " ") }
		NR > 1 { seen[$4, $7] = $1 " " $3 }
		END {
			for (run = 0; run < 5; run++) for (i = 0; i < 3; i++) for (j = 0; j < 2; j++) {
				due = lock[(run + i) % 3 + 1] " " layout[(run + j) % 2 + 1]
				if (seen[run + 1, 2 * i + j + 1] != due) { print "run " run + 1 ", turn " 2 * i + j + 1 ": " due " is due"; exit 1 }
			}
		}' $debug/uncontended || { cat $debug/uncontended; return 1; }
	said "Invalid argument" "experiment=uncontended torture_type=twa,busted" || return 1
	whole_time || return 1
	# The kernel's own locks are called as C calls them, or by the binding.
	echo "experiment=uncontended torture_type=$(locks lock | paste -sd,) runs=1" >$debug/control && await done 60 || return 1
	for lock in $(locks lock); do
		case $lock in spin_lock) shape=bound ;; raw_spin_lock | raw_res_spin_lock) shape=called ;; *) shape=inlined ;; esac
		awk -F, -v lock=$lock -v shape=$shape '$1 == lock { n++; bad += $2 != shape } END { exit n != 2 || bad }' $debug/uncontended ||
			{ echo "$lock is $shape"; cat $debug/uncontended; return 1; }
	done
	echo "experiment=uncontended torture_type=twa_irq runs=1" >$debug/control && await done 60 || return 1
	[ "$(column lock $debug/uncontended | sort -u)" = twa_irq ] || { cat $debug/uncontended; return 1; }
	# Under emulation far pairs take longer, in runs that begin with them and in those that do not. By their shortest times, for
	# a busy host makes any longer, and twice, for it may do so with all near ones.
	grep -q TCG /proc/cpuinfo || return 0
	longer=0
	for _ in 1 2 3 4 5 6 7; do
		echo "experiment=uncontended torture_type=twa runs=6" >$debug/control && await done 60 || return 1
		awk -F, 'NR > 1 && (!min[$3, $4 % 2] || $6 < min[$3, $4 % 2]) { min[$3, $4 % 2] = $6 }
			END { exit !(min["far", 0] > 1.05 * min["near", 0] && min["far", 1] > 1.05 * min["near", 1]) }' $debug/uncontended || continue
		longer=$((longer + 1))
		[ $longer -lt 2 ] || return 0
	done
	cat $debug/uncontended
	return 1
}

# KUnit's cases that ran beside an experiment are one of its facts, and none of the next one's.
beside_kunit() {
	echo "torture_type=twa nwriters_stress=1 duration=3 runs=1" >$debug/control || return 1
	acquires || return 1
	echo 1 >/sys/kernel/debug/kunit/handover_ticket/run || return 1
	await done 60 || return 1
	case $(fact spoiled_by) in KUNIT_RAN | *,KUNIT_RAN) ;; *) cat $debug/status; return 1 ;; esac
	echo "torture_type=twa nwriters_stress=1 duration=1 runs=1" >$debug/control && await done 20 || return 1
	case $(fact spoiled_by) in *KUNIT_RAN*) cat $debug/status; return 1 ;; esac
}

for bad in torture_type=hemlock torture_type=twa,twa torture_type= nwriters_stress=0 nwriters_stress=-2 \
	nwriters_stress=1025 nwriters_stress=two nwriters_stress=1,,2 nwriters_stress=4,4 cs_steps=-1 cs_steps=1000001 \
	ncs_steps=many ncs_steps=-1 duration=-1 duration=86401 runs=0 runs=1001 runs=+5 seed=+7 cs_steps=-0 stat_interval=-1 \
	stat_interval=3601 verbose=2 seed=-1 seed=18446744073709551616 checks=hope checks= \
	stall_secs=0 stall_secs=601 long_hold=501 stutter=61 shuffle_interval=3601 onoff_interval=-1 onoff_holdoff=x \
	bind_writers=2-1 bind_writers=1,2 bind_writers=4-9 nested_locks=9 rt_boost=1 rt_boost_factor=0 writer_fifo=2 \
	acq_writer_lim=1000001 nlocks=0 nlocks=65 try_lock=2 irq_interval=99 irq_interval=100 latency=2 experiment=yes; do
	verdict "refused: $bad" refused "${bad%%=*}" "${bad#*=}"
done
verdict "insmod refuses what is no text" no_text_loads

mark
insmod /handover.ko torture_type=twa nwriters_stress=2 duration=1 runs=1 || exit 1
[ -z "$only" ] || await done 20 || exit 1
verdict "the experiment that insmod asked for" await done 20
verdict "dmesg" logged
verdict "summary and locks" summary
verdict "verbose: little on the log" quiet
verdict "files are root's" root_only
verdict "the facts are the machine's" facts
verdict "the facts: nobody traces" is tracers none
! [ -d /sys/kernel/debug/kunit ] || verdict "the facts: KUnit ran beside it" beside_kunit
verdict "a log that is full has what was said since a mark" log_is_full
verdict "every result says its workload" workload
verdict "a sweep over writers" sweep
verdict "state: failed, by a check" fails_checks
verdict "what went wrong is an error in the log" errors_alone
verdict "state: failed, given up" fails_threads
verdict "no threads for what perturbs" fails_jobs
verdict "a stop after the last run" late_stop
verdict "uncontended: what was asked for" uncontended
verdict "control starts another" restarted
verdict "whole rows in mid-run" whole
verdict "control: EBUSY, stop" busy
verdict "control: stop keeps what was measured" stopped_rows
verdict "control: duration=0" endless
verdict "stat_interval: lines" lines
verdict "control: a seed each" draws
verdict "status: where a run stands" positions
verdict "control refuses an unknown word" said "Invalid argument" "speed=9"
verdict "control refuses a bad value" said "Invalid argument" "runs=2 duration=x"
verdict "control refuses to do nothing" said "Invalid argument" "experiment=none"
verdict "control refuses what is no word" said "Invalid argument" "faster"
verdict "control refuses nothing at all" said "Invalid argument" ""
verdict "control refuses what is no text" no_text
verdict "control refuses too much" too_much
verdict "control: words on several lines" of_lines
rmmod handover || failed=1
verdict "insmod alone" bare
finish
