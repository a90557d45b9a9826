# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# Tracing beside writers: the module holds nobody up who traces while it runs, and says in its
# facts who does. Needs a kernel with the function tracer: the stock one.
only=${1:-}
# shellcheck source=tests/guest/verdict.sh
. /verdict
tracing=/sys/kernel/tracing
mount -t tracefs trace $tracing 2>/dev/null
# Who records the names of tasks listens to more events than it was asked for.
echo 0 >$tracing/options/record-cmd

# in_time SECONDS COMMAND... : COMMAND ends within so many seconds. If it does not, writers are stopped,
# which is what it waits for.
in_time() {
	limit=$1
	shift
	"$@" &
	pid=$!
	waited=0
	while [ -e /proc/$pid/cwd ]; do
		usleep 100000
		waited=$((waited + 1))
		[ $waited -lt $((limit * 10)) ] || {
			echo stop >$debug/control
			wait $pid
			echo "no end after $limit s, as long as writers ran"
			return 1
		}
	done
	wait $pid
}

# A tracer of an instance, switched on and off again. That waits for every task to sleep, or to say that it is in
# no trampoline (RCU Tasks).
function_tracer() {
	echo vfs_statx >$tracing/instances/beside/set_ftrace_filter || return 1
	echo function >$tracing/instances/beside/current_tracer || return 1
	echo nop >$tracing/instances/beside/current_tracer
}

# goes_off : a tracer is removed in time while the experiment goes on, which is stopped then.
goes_off() {
	in_time 30 function_tracer || return 1
	grep -q '^state: running' $debug/status || { cat $debug/status; return 1; }
	echo stop >$debug/control
	await stopped 10 || return 1
	rmmod handover || return 1
	rmdir $tracing/instances/beside
}

# Every CPU has a writer, and the experiment has no end: who waits for the writers waits for ever.
beside() {
	mkdir $tracing/instances/beside || return 1
	insmod /handover.ko torture_type=twa nwriters_stress=4 duration=0 verbose=0 "$@" || return 1
	acquires || return 1
	goes_off
}
# The control thread times pairs of each lock, many times.
beside_pairs() {
	mkdir $tracing/instances/beside || return 1
	insmod /handover.ko experiment=uncontended torture_type=all runs=1000 verbose=0 stat_interval=0 || return 1
	until [ "$(wc -l <$debug/uncontended)" -gt 1 ]; do
		grep -q '^state: running' $debug/status || { cat $debug/status; return 1; }
		usleep 100000
	done
	goes_off
}

# hard : whatever wakes a thread or looks at writers is an interrupt on every kernel. PREEMPT_RT leaves any other mode to a thread.
# A writer's timer stays on its CPU.
hard() {
	echo >$tracing/trace
	insmod /handover.ko experiment=none stat_interval=0 || return 1
	echo 'comm ~ "ho_*"' >$tracing/events/timer/hrtimer_start/filter
	echo 1 >$tracing/options/record-cmd
	echo 1 >$tracing/events/timer/hrtimer_start/enable
	echo "torture_type=twa_irq nwriters_stress=2 irq_interval=1000 duration=1 runs=1" >$debug/control && await done 20
	rc=$?
	echo 0 >$tracing/events/enable
	echo 0 >$tracing/events/timer/hrtimer_start/filter
	echo 0 >$tracing/options/record-cmd
	# While there are names for the module's functions. (A timer that goes on is said to be ABS.)
	grep 'function=\(hrtimer_wakeup\|timer_tick\).*mode=REL' $tracing/trace >/tmp/armed
	rmmod handover && [ $rc -eq 0 ] || return 1
	[ "$(grep -c hrtimer_wakeup /tmp/armed)" -gt 5 ] && [ "$(grep -c 'ho_control.*timer_tick' /tmp/armed)" -eq 1 ] &&
		[ "$(grep -c 'ho_writer.*timer_tick.*mode=REL|PINNED|HARD' /tmp/armed)" -eq 2 ] || { grep timer_tick /tmp/armed; return 1; }
	! grep -v 'mode=[A-Z|]*HARD' /tmp/armed
}

# traced PATTERN : an experiment's facts name who traces, wherever they are.
traced() {
	insmod /handover.ko torture_type=twa nwriters_stress=2 duration=1 runs=1 || return 1
	await done 60 || { rmmod handover; return 1; }
	for file in status summary; do
		said=$(fact tracers $debug/$file)
		# shellcheck disable=SC2254 # a pattern
		case $said in $1) ;; *) echo "$file: tracers=$said, where it is $1"; rmmod handover; return 1 ;; esac
	done
	rmmod handover
}

# Two events, in whichever order the kernel has them.
both() {
	echo 1 >$tracing/events/sched/sched_migrate_task/enable || return 1
	echo 1 >$tracing/events/oom/mark_victim/enable || return 1
	traced 'sched_migrate_task,mark_victim' || traced 'mark_victim,sched_migrate_task'
	rc=$?
	echo 0 >$tracing/events/enable
	return $rc
}

# later BEFORE AFTER : who traces from the middle of a run on is seen, too, beside who did before. (A run ends by the
# clock; where it ends before the tracer is on, a longer one is next.)
later() {
	for seconds in 2 8 32; do
		insmod /handover.ko torture_type=twa nwriters_stress=2 duration=$seconds runs=1 || return 1
		acquires && is tracers "$1" && echo 1 >$tracing/events/sched/sched_migrate_task/enable
		rc=$?
		goes_on=$(grep -c '^state: running' $debug/status)
		# The log's last word of the facts is that of the files.
		[ $rc -eq 0 ] && await done 60 &&
			{ [ "$goes_on" -eq 0 ] || is tracers "$2"; } &&
			[ "$(dmesg | sed -n 's/.*handover: facts: //p' | tail -n 1)" = "$(sed -n 's/^facts: //p' $debug/status)" ] ||
			{ dmesg | grep facts:; cat $debug/status; rc=1; }
		echo 0 >$tracing/events/sched/sched_migrate_task/enable
		rmmod handover || return 1
		[ $rc -eq 0 ] || return 1
		[ "$goes_on" -eq 0 ] || return 0
	done
	echo "a run of $seconds s was over before the tracer was on"
	return 1
}

# meanwhile COMMAND... : COMMAND changes who traces in an experiment's measured time, which goes on until then. The
# module stays, with what it says at the end.
meanwhile() {
	insmod /handover.ko torture_type=twa nwriters_stress=2 duration=0 || return 1
	acquires && "$@" && grep -q '^state: running' $debug/status && echo stop >$debug/control && await stopped 60
}

# swapped GROUP/EVENT GROUP/EVENT : an event that went and one that came in mid-run are both seen.
swap() { echo 0 >"$tracing/events/$1/enable" && echo 1 >"$tracing/events/$2/enable"; }
swapped() {
	echo 1 >"$tracing/events/$1/enable" || return 1
	meanwhile swap "$@" && is tracers "${1#*/},${2#*/}"
	rc=$?
	echo 0 >$tracing/events/enable
	rmmod handover || return 1
	return $rc
}

# each_call : a kprobe in any of the functions that writers call is seen, of those that this kernel and this module have.
each_call() {
	insmod /handover.ko experiment=none stat_interval=0 verbose=0 || return 1
	awk '$3 ~ /^(_raw_spin_(un)?lock|native_queued_spin_lock_slowpath|handover_.*)$/ { print $3 }' /proc/kallsyms >/tmp/calls
	rmmod handover || return 1
	seen=0
	for call in handover_preempt_disable handover_preempt_enable handover_cond_resched handover_interrupts_disable \
		handover_interrupts_enable handover_contention_begin handover_contention_end handover_stamp handover_raw_spin_lock_irq \
		handover_raw_spin_unlock_irq handover_res_spin_lock handover_res_spin_unlock _raw_spin_lock _raw_spin_unlock native_queued_spin_lock_slowpath; do
		grep -qx $call /tmp/calls || continue
		seen=$((seen + 1))
		insmod /handover.ko experiment=none stat_interval=0 verbose=0 || return 1
		echo "p:handover_probe $call" >$tracing/kprobe_events && echo 1 >$tracing/events/kprobes/handover_probe/enable &&
			echo "torture_type=ticket nwriters_stress=1 duration=1 runs=1" >$debug/control && await done 20 && is tracers calls
		rc=$?
		echo 0 >$tracing/events/kprobes/handover_probe/enable
		echo >$tracing/kprobe_events
		rmmod handover || return 1
		[ $rc -eq 0 ] || { echo "with $call"; return 1; }
	done
	[ $seen -ge 13 ] || { echo "this kernel has $seen of them"; return 1; }
}

# A tracer of every function is in those that writers call (and listens to events for the names of tasks); a kprobe
# in one of them as well.
functions() {
	echo function >$tracing/current_tracer || return 1
	traced 'calls*'
	rc=$?
	echo nop >$tracing/current_tracer
	return $rc
}
# probed COMMAND... : beside a kprobe.
probed() {
	echo 'p:handover_probe _raw_spin_unlock' >$tracing/kprobe_events || return 1
	echo 1 >$tracing/events/kprobes/handover_probe/enable || return 1
	"$@"
	rc=$?
	echo 0 >$tracing/events/kprobes/handover_probe/enable
	echo >$tracing/kprobe_events
	return $rc
}

# calls_before : whoever changed those functions before, and no longer, is seen at the end.
no_probe() { echo 0 >$tracing/events/kprobes/handover_probe/enable && echo >$tracing/kprobe_events; }
calls_before() {
	echo 'p:handover_probe _raw_spin_unlock' >$tracing/kprobe_events || return 1
	echo 1 >$tracing/events/kprobes/handover_probe/enable || return 1
	meanwhile no_probe && is tracers calls
	rc=$?
	# An experiment that failed before has left it.
	[ ! -e $tracing/events/kprobes/handover_probe ] || no_probe
	rmmod handover || return 1
	return $rc
}
# many COMMAND : more events than the facts have room for. COMMAND comes before the end.
no_events() { echo 0 >$tracing/events/enable; }
many() {
	for group in sched irq timer; do echo 1 >$tracing/events/$group/enable || return 1; done
	meanwhile "$1"
	rc=$?
	said=$(fact tracers)
	on=0
	for group in sched irq timer; do on=$((on + $(ls -d $tracing/events/$group/*/ | wc -l))); done
	echo 0 >$tracing/events/enable
	rmmod handover || return 1
	[ $rc -eq 0 ] || return 1
	# Whole names, each once, and how many more there are.
	named=$(echo "$said" | tr , '\n' | sed '$d')
	for name in $named; do
		ls -d $tracing/events/*/$name/ >/dev/null || { echo "$said: no event $name"; return 1; }
	done
	[ "$(echo "$named" | sort -u | wc -l)" -eq "$(echo "$named" | wc -l)" ] && [ "$(echo "$named" | wc -l)" -gt 3 ] || { echo "$said"; return 1; }
	[ "${said##*,}" = "and-$((on - $(echo "$named" | wc -l)))-more" ] || { echo "$said, where $on are on"; return 1; }
}

# fits EVENT WORD : five events' names take 75 of the list's 95 bytes. With EVENT the list ends in WORD.
fits() {
	rc=0
	for event in irq/irq_handler_entry irq/irq_handler_exit irq/softirq_entry irq/softirq_exit irq/softirq_raise "$1"; do
		echo 1 >$tracing/events/$event/enable || rc=1
	done
	[ $rc -ne 0 ] || traced "irq_handler_entry,irq_handler_exit,softirq_entry,softirq_exit,softirq_raise,$2" || rc=1
	echo 0 >$tracing/events/enable
	return $rc
}

# without_room : five events are on before, and two come that do not fit.
two_more() { echo 1 >$tracing/events/timer/hrtimer_expire_entry/enable && echo 1 >$tracing/events/kmem/mm_page_free_batched/enable; }
without_room() {
	rc=0
	for event in irq_handler_entry irq_handler_exit softirq_entry softirq_exit softirq_raise; do
		echo 1 >$tracing/events/irq/$event/enable || rc=1
	done
	meanwhile two_more && is tracers "irq_handler_entry,irq_handler_exit,softirq_entry,softirq_exit,softirq_raise,and-2-more" || rc=1
	echo 0 >$tracing/events/enable
	rmmod handover || return 1
	return $rc
}

# hits EVENT : how often writers came to the event of contention, for each lock, the most first: COUNT ADDRESS.
hits() { sed -n 's/^{ lock_addr: *\([^ ]*\) } hitcount: *\([0-9]*\).*/\2 \1/p' $tracing/events/lock/$1/hist | sort -rn; }
# of_writers EVENT : what is asked for. (A kthread takes mutexes of the kernel's, too. LCB_F_SPIN is 1; an end has no flags.)
of_writers() { echo "hist:keys=lock_addr.hex if comm ~ \"ho_writer*\"$([ $1 = contention_end ] || echo ' && flags == 1')"; }
# contends LOCK WRITERS : an experiment, with what was told of its lock's contention in /tmp/contention_begin and _end; and in
# /tmp/dropped how many events the kernel does not count: it gives up where several CPUs bring a lock's first.
contends() {
	: >/tmp/dropped
	for event in contention_begin contention_end; do
		of_writers $event >$tracing/events/lock/$event/trigger || return 1
	done
	insmod /handover.ko torture_type="$1" nwriters_stress="$2" duration=1 runs=1 verbose=0 || return 1
	await done 60
	rc=$?
	column total $debug/writers | awk '{ sum += $1 } END { print sum + 0 }' >/tmp/total
	rmmod handover || return 1
	for event in contention_begin contention_end; do
		hits $event >/tmp/$event
		sed -n 's/^ *Dropped: //p' $tracing/events/lock/$event/hist >>/tmp/dropped
		echo "!$(of_writers $event)" >$tracing/events/lock/$event/trigger || return 1
	done
	return $rc
}
# Every wait has its begin and its end, of the lock that is waited for.
tells() {
	first=0 others=0
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		contends "$1" 4 || return 1
		[ "$(wc -l </tmp/dropped)" -eq 2 ] || { echo "the kernel does not say what it dropped"; return 1; }
		! grep -qv '^0$' /tmp/dropped || continue
		read -r begun lock </tmp/contention_begin
		grep -qx "$begun $lock" /tmp/contention_end || { head -n 3 /tmp/contention_begin /tmp/contention_end; return 1; }
		first=$((first + begun)) others=$((others + $(awk 'NR > 1 { sum += $1 } END { print sum + 0 }' /tmp/contention_begin)))
		# (The kernel's own locks may be contended, too.)
		[ $first -le 20 ] || [ $first -le $((others * 4)) ] || return 0
	done
	echo "$first waits, and $others for other locks; dropped in the last run: $(cat /tmp/dropped)"
	return 1
}
# (The kernel's own locks may be contended, now and then.)
tells_nothing() {
	contends "$1" 1 || return 1
	read -r begun _ </tmp/contention_begin || return 0
	[ $((begun * 100)) -lt "$(cat /tmp/total)" ] || { cat /tmp/total; head -n 3 /tmp/contention_begin; return 1; }
}

verdict "the facts: nobody traces" traced none
verdict "the facts: events are traced" both
verdict "the facts: an event that was on at the end" later none sched_migrate_task
verdict "the facts: functions are traced" functions
verdict "the facts: a kprobe" probed traced calls
verdict "the facts: a kprobe that has gone" calls_before
verdict "the facts: a kprobe in each function" each_call
verdict "the facts: many events" many true
verdict "the facts: many events that have gone" many no_events
verdict "the facts: the last event that fits" fits timer/hrtimer_expire_exit hrtimer_expire_exit
verdict "the facts: the first event that does not fit" fits timer/hrtimer_expire_entry and-1-more
verdict "the facts: events that came and do not fit" without_room
verdict "the facts: an event for another" swapped oom/mark_victim sched/sched_migrate_task
verdict "the facts: an event whose name begins another's" swapped kmem/mm_page_free_batched kmem/mm_page_free
verdict "the facts: an event whose name ends another's" swapped timer/hrtimer_start timer/timer_start
verdict "the facts: an event that came to a kprobe" probed later calls calls,sched_migrate_task
for lock in $(locks lock | grep -v spin_lock) twa_irq; do verdict "contention: of $lock" tells "$lock"; done
verdict "contention: there is none" tells_nothing twa
verdict "timers are interrupts" hard
verdict "a tracer goes off while pairs are timed" beside_pairs
verdict "a tracer goes off while writers run" beside
verdict "a tracer goes off while writers are timed" beside latency=1 nlocks=64
finish
