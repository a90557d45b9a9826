# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# Torture where lockdep looks on. A lock class is of the kind of its first lock: our locks and raw_spin_lock() spin on every
# kernel, and spin_lock() does not. So each kind begins with a class of its own, before all locks come.
# shellcheck source=tests/guest/verdict.sh
. /verdict

ran() { echo "nwriters_stress=2 duration=1 runs=1 $*" >$debug/control && await done 60; }

# LOCK_STAT has each acquisition of an experiment, and waits with the place in our code that waited: in the first of the two
# blocks below a class. (Two acquisitions are of each probe for the slow path, of which there may be ten.)
counted() {
	echo 0 >/proc/lock_stat || return 1
	ran torture_type="$1" nwriters_stress=4 || return 1
	due=$(column total $debug/writers | awk '{ sum += $1 } END { print sum }')
	sed -n '/^ *handover_torture/,/^$/p' /proc/lock_stat >/tmp/stat
	awk -v due="$due" -v place="$1.*laps.*\\[handover\\]" '/^ *handover_torture[^ ]*:/ { block = 0; is = $9 > due && $9 <= due + 20 && $3 > 20 }
		/^ *-+$/ { block++ } is && block == 1 && $0 ~ place { at = 1 } END { exit !at }' /tmp/stat || { echo "due: $due"; head -n 20 /tmp/stat; return 1; }
}

# So does an experiment of pairs: both layouts have as many as it says, in a run and in the round before. A few are the probe's.
counted_pairs() {
	echo 0 >/proc/lock_stat || return 1
	echo "experiment=uncontended torture_type=twa runs=1" >$debug/control && await done 120 || return 1
	pairs=$(sed -n 's/^workload: .* pairs=\([0-9]*\)$/\1/p' $debug/status)
	awk -v due=$((4 * pairs)) '/^ *handover_torture[^ ]*:/ { n += $9 } END { exit !(due > 1000 && n >= due && n <= due + 20) }' /proc/lock_stat ||
		{ echo "$pairs pairs"; grep handover_torture /proc/lock_stat; return 1; }
}

# What slows locks down on this kernel is said.
slowed() { ran torture_type=twa && spoiled; }

# With each of four locks, which writers also try.
interrupted() {
	ran torture_type=raw_spin_lock_irq,twa_irq,ticket_irq,one_word_twa_irq irq_interval=1000 try_lock=1 || return 1
	[ "$(did irqs | grep -c '^[1-9]')" -eq 4 ] || { cat $debug/results; return 1; }
}

# Each place in the order has a class, of locks that spin on every kernel and of those that do not.
classes() {
	for nest in 1 2 3 4 5 6 7 8; do
		[ "$(grep -cE ": handover_torture/$nest(#[0-9]+)?\$" /proc/lockdep)" -eq 2 ] || { echo "nested $nest:"; grep handover_torture /proc/lockdep; return 1; }
	done
}

insmod /handover.ko experiment=none stat_interval=0 || exit 1
verdict "raw locks nest" ran torture_type=twa nested_locks=1
verdict "spin_lock nests deeper" ran torture_type=spin_lock nested_locks=2
verdict "LOCK_STAT counts" counted twa
verdict "LOCK_STAT counts a queue" counted mcs
verdict "LOCK_STAT counts pairs" counted_pairs
verdict "what spoils figures here is said" slowed
verdict "interrupts take locks" interrupted
verdict "all locks nest" ran torture_type=all nested_locks=8 nlocks=2 try_lock=1
verdict "each nested lock has its class" classes
tell_file results $debug/results
tell_file summary $debug/summary
verdict "unloaded" rmmod handover
finish
