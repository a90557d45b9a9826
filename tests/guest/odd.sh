# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# A machine unlike the others: a CPU is isolated, two share a core, there are two nodes, mitigations are off, and the
# kernel is preempted otherwise. The facts say so, and nothing of the module ever runs on the isolated CPU. A probe that
# gets no second CPU ends.
# boot: --threads 2 --append 'isolcpus=1 nohz_full=1 numa=fake=2 mitigations=off preempt=full'
only=${1:-}
# shellcheck source=tests/guest/verdict.sh
. /verdict
tracing=/sys/kernel/tracing
mount -t tracefs trace $tracing 2>/dev/null

# Those that this boot asked for, and by what is the machine's own word for each.
odd() {
	insmod /handover.ko torture_type=twa nwriters_stress=3 duration=1 runs=1 || return 1
	await done 60 && is isolated_cpus 1 && is smt on && is numa_nodes 2 && is mitigations off && is preempt full &&
		is spinlock_slow_path qspinlock-native && facts
	rc=$?
	rmmod handover
	return $rc
}

# Numbers of writers are by the CPUs that are on line, isolated or not. A CPU that is off line is not isolated.
counted() {
	insmod /handover.ko experiment=none || return 1
	echo "torture_type=twa nwriters_stress=-1 duration=1 runs=1" >$debug/control && await done 60 && [ "$(column writers)" = 8 ] || return 1
	echo "torture_type=twa nwriters_stress=sweep duration=1 runs=1" >$debug/control && await done 60 &&
		[ "$(column writers | paste -sd,)" = 1,2,4 ] || return 1
	echo 0 >/sys/devices/system/cpu/cpu1/online || return 1
	echo "torture_type=twa nwriters_stress=1 duration=1 runs=1" >$debug/control && await done 60 && is isolated_cpus 0
	rc=$?
	echo 1 >/sys/devices/system/cpu/cpu1/online
	rmmod handover || return 1
	return $rc
}

# The facts are the experiment's, also where the machine has changed since.
stay() {
	insmod /handover.ko torture_type=twa nwriters_stress=1 duration=1 runs=1 || return 1
	await done 60 && is preempt full && echo lazy >/sys/kernel/debug/sched/preempt && is preempt full
	rc=$?
	echo full >/sys/kernel/debug/sched/preempt
	rmmod handover || return 1
	return $rc
}

# apart COMMAND... : while it runs, no thread of the module's comes to CPU 1, by the scheduler's own trace, which has to
# have seen the probe elsewhere.
apart() {
	echo >$tracing/trace
	echo 8192 >$tracing/buffer_size_kb
	echo 'next_comm ~ "ho_*" || next_comm ~ "handover_*"' >$tracing/events/sched/sched_switch/filter || return 1
	echo 1 >$tracing/events/sched/sched_switch/enable || return 1
	"$@"
	rc=$?
	echo 0 >$tracing/events/enable
	there=$(grep -c '\[001\].*next_comm=\(ho_\|handover_\)' $tracing/trace)
	probes=$(grep -c 'next_comm=\(ho_\|handover_\)pr' $tracing/trace)
	[ "$there" -eq 0 ] || { echo "$there times on the isolated CPU:"; grep '\[001\].*next_comm=' $tracing/trace | head -n 3; return 1; }
	[ "$probes" -gt 0 ] || { echo "no probe was seen"; return 1; }
	return $rc
}
often() {
	for words in duration=1 duration=2 "duration=3 shuffle_interval=1"; do
		# shellcheck disable=SC2086 # words
		insmod /handover.ko torture_type=twa nwriters_stress=8 runs=1 $words || return 1
		await done 60 || return 1
		rmmod handover || return 1
	done
}

# Writers that are moved may not run there either, whichever other CPU is left to nobody.
moved() {
	insmod /handover.ko torture_type=twa nwriters_stress=2 duration=4 runs=1 shuffle_interval=1 || return 1
	acquires && seen where && await done 20
	rc=$?
	rmmod handover && [ $rc -eq 0 ] || return 1
	sort -u /tmp/seen >/tmp/masks
	[ "$(wc -l </tmp/masks)" -gt 1 ] || { echo "they were allowed:"; cat /tmp/masks; return 1; }
	! tr , '\n' </tmp/masks | awk -F- '$1 <= 1 && $NF >= 1 { at = 1 } END { exit !at }' || { cat /tmp/masks; return 1; }
}

# By word writers run there.
bound() {
	insmod /handover.ko torture_type=twa nwriters_stress=2 duration=2 runs=1 bind_writers=1 || return 1
	until grep -q '^now: ' $debug/status; do
		grep -q '^state: running' $debug/status || break
		usleep 20000
	done
	seen=$(where | paste -sd' ')
	await done 20 && [ "$seen" = "1 1" ] || { echo "on $seen"; cat $debug/status; false; }
	rc=$?
	rmmod handover
	return $rc
}

# With no CPU left for a waiter the fact is unknown, soon.
alone() {
	for cpu in 2 3; do echo 0 >/sys/devices/system/cpu/cpu$cpu/online || return 1; done
	insmod /handover.ko torture_type=twa nwriters_stress=1 duration=1 runs=1
	await done 10 && is spinlock_slow_path unknown && is isolated_cpus 1 && is cpus 2
	rc=$?
	rmmod handover
	for cpu in 2 3; do echo 1 >/sys/devices/system/cpu/cpu$cpu/online || return 1; done
	return $rc
}

# starved COMMAND... : the probe's waiter is bound to CPU 0, for kthreadd's children inherit what it was told. The control
# thread may use CPU 2 as well, so the module probes. It is on CPU 0 all the same: it sleeps there, and CPU 2 is busy with
# loops that outweigh it. So the waiter gets no CPU while the control thread waits for it. The job is on CPU 3.
starved() {
	insmod /handover.ko experiment=none || return 1
	hogs='' rc=1
	born=$(taskset -p 2 | sed 's/.*: //')
	read -r me _ </proc/self/stat
	control=$(grep -l '^ho_control' /proc/[0-9]*/comm | cut -d/ -f3)
	# One usable CPU is not probed for.
	if taskset -p 8 "$me" >/dev/null && taskset -p 1 "$control" >/dev/null &&
		unprobed && is spinlock_slow_path unknown && is isolated_cpus 3 && taskset -p 5 "$control" >/dev/null && taskset -p 1 2 >/dev/null; then
		for _ in 1 2 3; do
			while :; do :; done >/dev/null 2>&1 &
			hogs="$hogs $!"
			taskset -p 4 $! >/dev/null && renice -20 $!
		done
		echo 'comm ~ "ho_probe*"' >$tracing/events/sched/sched_waking/filter
		echo 'comm ~ "ho_probe*"' >$tracing/events/sched/sched_kthread_stop/filter
		echo 1 >$tracing/events/sched/sched_waking/enable
		echo 1 >$tracing/events/sched/sched_kthread_stop/enable
		"$@"
		rc=$?
		echo 0 >$tracing/events/enable
		kill $hogs
	fi
	taskset -p "$born" 2 >/dev/null
	rmmod handover || return 1
	return $rc
}

# unprobed : an experiment that begins with no probe.
unprobed() {
	echo >$tracing/trace
	echo 'comm ~ "ho_*"' >$tracing/events/sched/sched_waking/filter
	echo 1 >$tracing/events/sched/sched_waking/enable
	echo "experiment=uncontended runs=1" >$debug/control && await done 60
	ended=$?
	echo 0 >$tracing/events/enable
	grep -q 'sched_waking: comm=ho_control' $tracing/trace || { echo "nothing was traced"; return 1; }
	[ $ended -eq 0 ] && ! grep comm=ho_probe $tracing/trace
}

# begin : an experiment, which begins with probes.
begin() {
	echo >$tracing/trace
	echo "torture_type=twa nwriters_stress=1 duration=1 runs=1" >$debug/control
}

# took : how long each probe took, in milliseconds: from its waiter's first waking on.
took() {
	awk '/comm=ho_probe/ {
		match($0, / [0-9]+\.[0-9]+: /); now = substr($0, RSTART + 1, RLENGTH - 3)
		match($0, / pid=[0-9]+/); pid = substr($0, RSTART + 5, RLENGTH - 5)
		if (/ sched_waking: / && !(pid in from)) from[pid] = now
		if (/ sched_kthread_stop: / && pid in from) printf "%d\n", (now - from[pid]) * 1000
	}' $tracing/trace
}

# now_s : the seconds since the boot, without a process.
now_s() { read -r now _ </proc/uptime && now=${now%.*}; }

# A probe waits 200 ms, and there are ten. The job's stop ends one that has no bound, before the kernel calls it a lockup.
bounded() {
	for _ in 1 2 3; do
		begin || return 1
		now_s
		limit=$((now + 15)) late=''
		until [ -n "$(fact spinlock_slow_path)" ]; do
			now_s
			[ $now -lt $limit ] || { late=1 && break; }
			usleep 50000
		done
		echo stop >$debug/control
		await '[ds]' 20 || return 1
		[ -z "$late" ] || { echo "no end after 15 s; probes of ms: $(took)"; return 1; }
		[ "$(fact spinlock_slow_path)" != unknown ] || break
	done
	is spinlock_slow_path unknown || return 1
	[ "$(took | awk '$1 >= 200' | wc -l)" -eq 10 ] || { echo "probes of ms: $(took)"; return 1; }
}

# A stop cuts a probe short, which takes 200 ms alone. It may come at a probe's end: once in five is enough.
heard() {
	for _ in 1 2 3 4 5; do
		begin || return 1
		until grep -q 'comm=ho_probe' $tracing/trace || [ -n "$(fact spinlock_slow_path)" ]; do :; done
		echo stop >$debug/control
		await stopped 20 || return 1
		[ "$(fact spinlock_slow_path)" = unknown ] && [ "$(took | awk '$1 < 190' | wc -l)" -eq 1 ] && return
	done
	echo "slow path $(fact spinlock_slow_path), probes of ms: $(took)"
	return 1
}

verdict "the facts are the odd machine's" odd
verdict "CPUs are counted as they are on line" counted
verdict "the facts stay when the machine changes" stay
verdict "nothing runs on an isolated CPU" apart often
verdict "writers are not moved there" moved
verdict "writers run there by word" bound
verdict "no second CPU: the slow path is unknown" alone
verdict "a probe whose waiter gets no CPU ends" starved bounded
verdict "a probe hears a stop" starved heard
finish
