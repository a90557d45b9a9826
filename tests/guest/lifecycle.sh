# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# Loading, unloading, hotplug: nothing hangs, nothing is left.
only=${1:-}
# shellcheck source=tests/guest/verdict.sh
. /verdict

# The module's threads, by name.
threads() { cat /proc/[0-9]*/comm 2>/dev/null | grep -E '^ho_|^handover'; }
slab_kb() { awk '/^Slab:/ { print $2 }' /proc/meminfo; }

left() {
	[ -z "$(threads)" ] || { threads; return 1; }
	[ ! -e $debug ] || { echo "debugfs entries are left"; return 1; }
	! lsmod | grep -q '^handover' || { echo "still loaded"; return 1; }
}

# reload N : loads, which starts an experiment, and unloads.
reload() {
	i=0
	while [ $i -lt "$1" ]; do
		insmod /handover.ko torture_type=twa,raw_spin_lock nwriters_stress=4 duration=1 runs=1 verbose=0 || return 1
		rmmod handover || return 1
		i=$((i + 1))
	done
	left
}

# Before and after fifty, caches warm: less than 1 MB more slab. KASAN keeps what is freed, up to a 32nd of the memory.
reloads() {
	reload 5 || return 1
	sleep 1
	before=$(slab_kb)
	reload 50 || return 1
	sleep 1
	after=$(slab_kb)
	kept=0
	! grep -q ' kasan_quarantine_put$' /proc/kallsyms || kept=$(awk '/^MemTotal:/ { print int($2 / 32) }' /proc/meminfo)
	[ $((after - before)) -lt $((1024 + kept)) ] || { echo "slab grew from $before to $after kB"; return 1; }
}

# Removed in mid-run, at different moments of it.
removals() {
	i=0
	while [ $i -lt 20 ]; do
		insmod /handover.ko torture_type=all nwriters_stress=1,4,9 duration=1 runs=9 verbose=0 || return 1
		usleep $((i * 97000))
		grep -q '^state: running' $debug/status || { cat $debug/status; return 1; }
		rmmod handover || return 1
		i=$((i + 1))
	done
	left
}

# control, then removed at once: the request is dropped or stopped.
asked() {
	insmod /handover.ko experiment=none || return 1
	grep -q '^state: idle' $debug/status && ! grep -q '^workload: ' $debug/status || { cat $debug/status; return 1; }
	i=0
	while [ $i -lt 5 ]; do
		echo "torture_type=ticket nwriters_stress=2 duration=30" >$debug/control || return 1
		rmmod handover || return 1
		insmod /handover.ko experiment=none || return 1
		i=$((i + 1))
	done
	rmmod handover || return 1
	left
}

# Every file held open keeps the module; closed, it goes.
held() {
	insmod /handover.ko experiment=none || return 1
	exec 3<$debug/results
	! rmmod handover 2>/dev/null || { echo "removed under an open file"; return 1; }
	read -r header <&3
	exec 3<&-
	case $header in lock,writers,*) ;; *) echo "read: $header"; return 1 ;; esac
	for file in $debug/*; do
		[ "$file" != $debug/control ] || continue
		exec 3<"$file"
		! rmmod handover 2>/dev/null || { echo "removed under an open $file"; return 1; }
		exec 3<&-
	done
	rmmod handover || return 1
	left
}

# control too, which is another kind of file: what was opened still takes words after a refused removal.
held_control() {
	insmod /handover.ko experiment=none || return 1
	exec 3>$debug/control
	why=$(rmmod handover 2>&1) && { echo "removed under an open control"; return 1; }
	case $why in *"Resource temporarily unavailable"* | *busy* | *"in use"*) ;; *) echo "$why"; return 1 ;; esac
	echo "torture_type=ticket nwriters_stress=1 duration=1 runs=1" >&3 || return 1
	await done 20 || return 1
	exec 3>&-
	rmmod handover || return 1
	left
}

# Two who have control open, one of whom is busy with what the other one asked for.
two_controls() {
	insmod /handover.ko experiment=none || return 1
	exec 3>$debug/control
	exec 4>$debug/control
	echo "torture_type=ticket nwriters_stress=2 duration=60 runs=1" >&3 || return 1
	! echo "torture_type=twa nwriters_stress=1 duration=1 runs=1" 2>/dev/null >&4 || { echo "two experiments at a time"; return 1; }
	# (A word needs no end of the line.)
	printf stop >&4 || return 1
	await stopped 10 || return 1
	echo "torture_type=twa nwriters_stress=1 duration=1 runs=1" >&4 || return 1
	await done 20 || return 1
	exec 3>&- 4>&-
	rmmod handover || return 1
	left
}

# A stop that comes before the control thread has a CPU is heard.
early_stop() {
	insmod /handover.ko experiment=none || return 1
	control=$(grep -l '^ho_control' /proc/[0-9]*/comm | cut -d/ -f3)
	taskset -p 8 "$control" >/dev/null && hog_cpu_3 || return 1
	echo "torture_type=twa nwriters_stress=1 duration=60 runs=1" >$debug/control && echo stop >$debug/control
	rc=$?
	leave_cpu_3
	[ $rc -eq 0 ] && await stopped 10 || { cat $debug/status; rmmod handover; return 1; }
	rmmod handover || return 1
	left
}

# state_is STATE : at once.
state_is() { grep -q "^state: $1" $debug/status || { echo "not $1: $(head -n 1 $debug/status)"; return 1; }; }

# whole : an experiment, which runs to its end.
whole() {
	echo "torture_type=twa nwriters_stress=2 duration=1 runs=2" >$debug/control || return 1
	await "done" 20 || return 1
	[ "$(tail -n +2 $debug/results | wc -l)" -eq 2 ] || { cat $debug/results; return 1; }
}

# Stopped while nothing runs; as soon as it was asked for, before its threads are, while they are made, and in its runs; twice;
# when it is stopped, and when it is done. The next experiment always runs to its end.
stops() {
	insmod /handover.ko experiment=none || return 1
	echo stop >$debug/control || return 1
	state_is idle || return 1
	whole || return 1
	for pause in 0 1000 3000 10000 30000 100000 300000 1000000; do
		echo "torture_type=twa nwriters_stress=9 duration=9 runs=9" >$debug/control || return 1
		usleep $pause
		echo stop >$debug/control && echo stop >$debug/control || return 1
		await stopped 10 || return 1
		echo stop >$debug/control || return 1
		state_is stopped || return 1
	done
	whole || return 1
	# One that has failed already fails, and the stop is its own all the same.
	echo "torture_type=busted nwriters_stress=4 duration=1 runs=50" >$debug/control || return 1
	rows_come 1 || return 1
	echo stop >$debug/control || return 1
	await failed 10 || return 1
	[ "$(wc -l <$debug/results)" -lt 50 ] || { cat $debug/status; return 1; }
	whole || return 1
	for pause in 0 10000 1000000; do
		echo "experiment=uncontended torture_type=twa runs=1000" >$debug/control || return 1
		usleep $pause
		echo stop >$debug/control || return 1
		await stopped 30 || return 1
	done
	whole || return 1
	echo stop >$debug/control || return 1
	state_is "done" || return 1
	whole || return 1
	rmmod handover || return 1
	left
}

# beside FILE : a file is read, or control written, if it is there.
beside() {
	case $1 in
	control) echo "torture_type=ticket nwriters_stress=2 duration=1 runs=1" >$debug/control ;;
	*) cat $debug/$1 ;;
	esac
}
# Every file is read, and control written, while the module comes and goes.
beside_removals() {
	: >/tmp/beside
	for file in status results writers latency summary uncontended locks control; do
		: >/tmp/beside-$file
		while [ -e /tmp/beside ]; do beside $file && echo >>/tmp/beside-$file; usleep 1000; done >/dev/null 2>&1 &
	done
	i=0
	while [ $i -lt 20 ]; do
		insmod /handover.ko experiment=none || break
		tries=0
		until rmmod handover 2>/dev/null; do
			tries=$((tries + 1))
			[ $tries -lt 2000 ] || break 2
			usleep 1000
		done
		i=$((i + 1))
	done
	rm /tmp/beside
	wait
	[ $i -eq 20 ] || { echo "$i removals"; return 1; }
	# Each was there now and then.
	for file in status results writers latency summary uncontended locks control; do
		[ -s /tmp/beside-$file ] || { echo "nobody reached $file"; return 1; }
	done
	left
}

# Writers are told apart by the names that ps, perf and ftrace show, and give way to whoever else there is.
named() {
	insmod /handover.ko torture_type=twa nwriters_stress=12 duration=0 || return 1
	due=$(echo ho_control/0; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo ho_writer/$i; done)
	acquires || return 1
	[ "$(threads | sort)" = "$(echo "$due" | sort)" ] || { threads; return 1; }
	for file in /proc/[0-9]*/stat; do
		# Nice is the 19th field, the 17th after the name.
		case $(cat "$file" 2>/dev/null) in *"(ho_writer/"*) ;; *) continue ;; esac
		[ "$(sed 's/.*) //' "$file" | cut -d' ' -f17)" -eq 19 ] || { cat "$file"; return 1; }
	done
	rmmod handover || return 1
	left
}

# $1 writers of each lock while CPUs come and go, three times or more. (The experiment ends by the
# clock; on a slow host it comes again, up to five times, and each is to be clean.)
hotplug() {
	cycles=0
	for _ in 1 2 3 4 5; do
		insmod /handover.ko torture_type=twa,ticket,raw_spin_lock nwriters_stress="$1" duration=4 runs=1 ||
			return 1
		while grep -q '^state: running' $debug/status; do
			for cpu in 3 2 1; do echo 0 >/sys/devices/system/cpu/cpu$cpu/online || return 1; done
			for cpu in 1 2 3; do echo 1 >/sys/devices/system/cpu/cpu$cpu/online || return 1; done
			cycles=$((cycles + 1))
		done
		settled 3 || return 1
		[ $cycles -lt 3 ] || return 0
	done
	echo "only $cycles cycles"
	return 1
}

# $1 rows, no failure; then unloads.
settled() {
	await done 60 || return 1
	rows=$(awk -F, 'NR > 1 && $8 == 0 && $5 > 0' $debug/results | wc -l)
	[ "$rows" -eq "$1" ] || { cat $debug/results; return 1; }
	rmmod handover
}

crowd() {
	insmod /handover.ko torture_type=twa,ticket,raw_spin_lock nwriters_stress=64 duration=2 runs=1 ||
		return 1
	settled 3
}

verdict "50 reloads leave nothing" reloads
verdict "20 removals in mid-run" removals
verdict "removals with a request pending" asked
verdict "an open file keeps the module" held
verdict "files are read and written beside removals" beside_removals
verdict "two who have control open" two_controls
verdict "stop in each state" stops
verdict "a stop before the begin" early_stop
verdict "threads have names and give way" named
verdict "64 writers on 4 CPUs" crowd
verdict "CPU hotplug under 4 writers" hotplug 4
verdict "CPU hotplug under 64 writers" hotplug 64
# Last: where this fails, the guest is lost.
verdict "an open control keeps the module" held_control
finish
