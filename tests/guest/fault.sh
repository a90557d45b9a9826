# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# Each allocation of the module's fails once (fail-nth): those of a load, and those of an experiment. Nothing hangs,
# nothing is half-started, nothing is left, and the next one works.
# The console does not show warnings: the kernel has one, with a trace, for a kthread's stack that it has no room for.
# boot: --memory 2048 --append "slab_debug=FZP loglevel=4 log_buf_len=16M"
only=${1:-}
# shellcheck source=tests/guest/verdict.sh
. /verdict
kinds="/sys/kernel/debug/failslab /sys/kernel/debug/fail_page_alloc"
for kind in $kinds; do
	echo N >$kind/ignore-gfp-wait && echo 0 >$kind/verbose || exit 1
done
# Which allocation is the Nth must not be chance: those of whole pages, as the allocators make for themselves, do not fail,
# nor do kmemleak's.
echo 10 >/sys/kernel/debug/fail_page_alloc/min-order || exit 1
echo Y >/sys/kernel/debug/failslab/cache-filter || exit 1
# faulty_slab 0|1 : whether those of the slab can fail.
faulty_slab() {
	for cache in /sys/kernel/slab/*; do
		case $cache in *kmemleak*) ;; *) echo "$1" >$cache/failslab || return 1 ;; esac
	done
}
faulty_slab 1 || exit 1

# between FROM TO : only an allocation that is made by code from there to there fails.
between() { for kind in $kinds; do echo "$1" >$kind/require-start && echo "$2" >$kind/require-end || return 1; done; }
# The kernel's own failures are not looked for: modules lie above it, and this is the only one.
of_module() { between "0x$(sed -n 's/ . _etext$//p' /proc/kallsyms)" 0xffffffffff000000; }
of_module || exit 1

# Allocations that were made to fail since `arm`.
arm() { for kind in $kinds; do echo 1000 >$kind/times || return 1; done; }
failed() { for kind in $kinds; do cat $kind/times; done | awk '{ left += $1 } END { print 2000 - left }'; }

threads() { sed -n 's/^Name:.\(ho_.*\)/\1/p' /proc/[0-9]*/status 2>/dev/null; }
is_loaded() { grep -q '^handover ' /proc/modules; }
nothing_is_left() {
	[ -z "$(threads)" ] || { echo "$(threads) is left"; return 1; }
	! is_loaded || { echo "the module is left"; return 1; }
	[ ! -e $debug ] || { echo "files are left"; return 1; }
}

# load N : by a process of which the Nth allocation fails. Where that is a reason for the module not to come up, busybox's
# insmod tries once more, by init_module(), and the second try has to succeed.
# shellcheck disable=SC2016 # the inner shell's
load() { sh -c 'echo $0 >/proc/self/fail-nth && exec insmod /handover.ko experiment=none' "$1" 2>/dev/null; }

# loaded N : it comes up with all its files, or with none and says so; and goes. Its reasons are kept.
loaded() {
	arm && mark || return 1
	load "$1" || { echo "$1: refused twice"; since; return 1; }
	since >/tmp/since
	case $(cd $debug 2>/dev/null && echo *) in
	'control latency locks results status summary uncontended writers') ;;
	'' | '*') grep 'handover: no files' /tmp/since >>/tmp/bare || { echo "$1: no files"; return 1; } ;;
	*) echo "$1: $(ls $debug)"; return 1 ;;
	esac
	[ "$(threads)" = ho_control/0 ] || { echo "$1: it has these threads: $(threads)"; return 1; }
	sed -n 's/.*handover: \(no [^:]*\).*/\1/p' /tmp/since | grep -v '^no files' >>/tmp/reasons
	rmmod handover || { echo "$1: it does not go"; return 1; }
	nothing_is_left || { echo "after $1"; return 1; }
}
# Up to the load in which none fails any more. Then the first ones again, until each of the module's own reasons not to come up
# was seen: how many allocations there are before it varies, for the allocator has some of its own.
loads() {
	n=0
	: >/tmp/reasons
	: >/tmp/bare
	until [ $n -ne 0 ] && [ "$(failed)" -eq 0 ]; do
		n=$((n + 1))
		[ $n -lt 300 ] || { echo "no end after $n"; return 1; }
		loaded $n || return 1
	done
	all=$n again=0
	until [ "$(sort -u /tmp/reasons | wc -l)" -ge 3 ]; do
		again=$((again + 1))
		[ $again -lt 100 ] || { echo "of $all and $again: $(sort /tmp/reasons | uniq -c)"; return 1; }
		loaded $((again % 10 + 1)) || return 1
	done
	for reason in "no room for the harness" "no room for the files" "no control thread"; do
		grep -qx "$reason" /tmp/reasons || { echo "never: $reason"; return 1; }
	done
	[ "$(wc -l </tmp/bare)" -ge 8 ] || { echo "only $(wc -l </tmp/bare) loads without files"; return 1; }
	echo "$all and $again loads: $(wc -l </tmp/reasons) refused, $(wc -l </tmp/bare) without files" >&3
}

# control_alone : of the module's threads. (One that was stopped may be there for a moment.)
control_alone() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ "$(threads)" != ho_control/0 ] || return 0
		usleep 100000
	done
	return 1
}

# experiments LEAST WORD... : up to the one in which none of the control thread's allocations fails any more. It says
# that it was given up, LEAST times or more; or it does without what failed, and has all its runs. Each is the first of a
# load: an experiment has the room of those before it.
experiments() {
	least=$1 n=0 refused=0
	shift
	while :; do
		n=$((n + 1))
		[ $n -lt 600 ] || { echo "no end after $n"; return 1; }
		insmod /handover.ko experiment=none stat_interval=0 || return 1
		pid=$(grep -ls '^Name:.ho_control' /proc/[0-9]*/status | cut -d/ -f3)
		mark
		echo $n >"/proc/$pid/fail-nth" && echo "$*" >$debug/control || return 1
		await '[dfhs]' 90 || return 1
		left=$(cat "/proc/$pid/fail-nth")
		echo 0 >"/proc/$pid/fail-nth" || return 1
		case $(sed -n 's/^state: //p' $debug/status) in
		done) [ "$left" -eq 0 ] || break ;;
		"failed: given up: $(errname ENOMEM 12)") refused=$((refused + 1)) ;;
		*) echo "$n: $(head -n 1 $debug/status)"; since; return 1 ;;
		esac
		control_alone || { echo "$n: $(threads) is left"; return 1; }
		rmmod handover && nothing_is_left || return 1
	done
	rmmod handover && nothing_is_left || return 1
	echo "$n experiments, of which $refused were given up" >&3
	[ $refused -ge "$least" ] || { echo "only $refused of $n were given up"; return 1; }
}

# others WORD... : the same for the threads that the kernel makes for an experiment, and for the making of them: each of their
# allocations from the slab. `count` is how many of these there have been. What fails is the one that it is next a multiple
# of the interval at. (A thread without some of what it needs is EAGAIN to the kernel.)
others() {
	slab=/sys/kernel/debug/failslab count=0 n=0 refused=0
	insmod /handover.ko experiment=none stat_interval=0 || return 1
	between 0 0xffffffffffffffff || return 1
	# Those that the kernel makes are as the one that makes them.
	echo 1 >/proc/2/make-it-fail && echo Y >$slab/task-filter && echo 100 >$slab/probability || return 1
	while :; do
		n=$((n + 1))
		[ $n -lt 600 ] || { echo "no end after $n"; return 1; }
		count=$((count + n))
		mark
		echo $count >$slab/interval && echo 1 >$slab/times && echo "$*" >$debug/control || return 1
		await '[dfhs]' 90 || return 1
		left=$(cat $slab/times)
		echo 0 >$slab/times || return 1
		case $(sed -n 's/^state: //p' $debug/status) in
		done)
			[ "$(did irqs)" -ne 0 ] || { echo "$n: no interrupts"; return 1; }
			[ "$left" -eq 0 ] || break
			;;
		"failed: given up: $(errname ENOMEM 12)" | "failed: given up: $(errname EAGAIN 11)") refused=$((refused + 1)) ;;
		"failed: given up: $(errname EINVAL 22)") since | grep -q 'are refused their CPUs or timers' || { echo "$n: EINVAL"; since; return 1; } ;;
		*) echo "$n: $(head -n 1 $debug/status)"; since; return 1 ;;
		esac
		control_alone || { echo "$n: $(threads) is left"; return 1; }
	done
	of_module || return 1
	echo 0 >/proc/2/make-it-fail && echo N >$slab/task-filter && echo 0 >$slab/probability || return 1
	rmmod handover && nothing_is_left || return 1
	echo "$n experiments, of which $refused were given up" >&3
	[ $refused -ge 10 ] || { echo "only $refused of $n were given up"; return 1; }
}

# pages WORD... : the same for allocations that are too large for the slab, which has none that fail meanwhile. There is
# another way to get as much memory, so no experiment is given up. (The slab's own are of eight pages at most.)
pages() {
	faulty_slab 0 && echo 4 >/sys/kernel/debug/fail_page_alloc/min-order && arm || return 1
	experiments 0 "$@"
	of_pages=$?
	faulty_slab 1 && echo 10 >/sys/kernel/debug/fail_page_alloc/min-order && [ $of_pages -eq 0 ] || return 1
	[ "$(failed)" -eq 3 ] || { echo "$(failed) have failed, where three take 64 KiB"; return 1; }
	[ $refused -eq 0 ] || { echo "$refused were given up"; return 1; }
}

# accesses : those of a process that reads a file, or that writes to control. It is refused, or gets all there is. A refused
# request changes nothing. Where all fail, rows of the summary are left out, and it says so.
# shellcheck disable=SC2016 # the inner shell's
accesses() {
	insmod /handover.ko experiment=none stat_interval=0 || return 1
	words="torture_type=twa,ticket nwriters_stress=2 duration=1 runs=2 latency=1"
	echo "$words" >$debug/control && await done 90 || return 1
	for file in results writers summary latency status locks uncontended; do
		cat $debug/$file >/tmp/whole || return 1
		n=0
		while :; do
			n=$((n + 1)) rc=0
			[ $n -lt 100 ] || { echo "$file: no end after $n"; return 1; }
			arm || return 1
			sh -c 'echo $0 >/proc/self/fail-nth && exec cat "$1"' $n $debug/$file >/tmp/read 2>/tmp/why || rc=$?
			if [ $rc -ne 0 ]; then
				[ ! -s /tmp/read ] && grep -q 'Cannot allocate memory' /tmp/why || { echo "$file, $n: exit $rc: $(cat /tmp/why)"; return 1; }
			else
				cmp /tmp/whole /tmp/read || { echo "$file, $n"; return 1; }
			fi
			[ "$(failed)" -ne 0 ] || break
		done
		echo "$((n - 1)) faults in a read of $file" >&3
	done
	# One that fails is tried in another way. If all do, the summary has its other lines.
	slab=/sys/kernel/debug/failslab
	cat $debug/summary >/tmp/whole
	arm && echo Y >$slab/task-filter && echo 100 >$slab/probability || return 1
	sh -c 'echo 1 >/proc/self/make-it-fail && exec cat "$0"' $debug/summary >/tmp/read
	rc=$?
	echo N >$slab/task-filter && echo 0 >$slab/probability || return 1
	[ $rc -eq 0 ] && grep -qx 'no memory to sort the runs: rows are left out' /tmp/read &&
		! grep -v '^no memory to sort the runs' /tmp/read | grep -vxFf /tmp/whole && [ "$(wc -l </tmp/read)" -lt "$(wc -l </tmp/whole)" ] ||
		{ echo "exit $rc"; cat /tmp/read; return 1; }
	refused=0 n=0
	while :; do
		n=$((n + 1)) rc=0
		[ $n -lt 100 ] || { echo "no end after $n"; return 1; }
		cat $debug/status $debug/results >/tmp/whole
		arm || return 1
		sh -c 'echo $0 >/proc/self/fail-nth && echo "$1" >"$2"' $n "$words seed=$n" $debug/control 2>/tmp/why || rc=$?
		if [ $rc -ne 0 ]; then
			refused=$((refused + 1))
			grep -q 'Cannot allocate memory' /tmp/why || { echo "$n: exit $rc: $(cat /tmp/why)"; return 1; }
			cat $debug/status $debug/results | cmp /tmp/whole - || { echo "$n: refused, and it has changed"; return 1; }
		else
			await done 90 && grep -q "seed=$n " $debug/status || { head -n 1 $debug/status; return 1; }
		fi
		[ "$(failed)" -ne 0 ] || break
	done
	rmmod handover && nothing_is_left || return 1
	echo "$n requests, of which $refused were refused" >&3
	[ $refused -ge 1 ] || { echo "none of $n was refused"; return 1; }
}

perturbations='latency=1 nlocks=3 nested_locks=2 stutter=1 shuffle_interval=1 onoff_interval=1 irq_interval=1000'
plain() { experiments 4 torture_type=twa nwriters_stress=2 duration=1 runs=1; }
perturbed() { experiments 8 torture_type=twa_irq nwriters_stress=2 duration=1 runs=1 $perturbations; }
pairs() { experiments 1 experiment=uncontended torture_type=twa,mcs runs=1; }
whole_pages() { pages torture_type=twa nwriters_stress=32 duration=1 runs=1 latency=1 stall_secs=60; }
threads_made() { others torture_type=twa_irq nwriters_stress=1 duration=1 runs=1 $perturbations; }

# without_leak COMMAND : it succeeds, and leaves nothing that nobody refers to.
without_leak() {
	echo clear >$leak && "$@" || return 1
	found=$(unreferenced) || { echo "kmemleak does not look"; return 1; }
	[ -z "$found" ] || { echo "$found" | head -n 40; return 1; }
}

# Of those of WARN() there is none either, but the kernel's own: a thread has no room for the mask of its node's CPUs.
no_splat() { ! dmesg | grep -E 'BUG:|WARNING:|Oops' | grep -v ' at kthread_affine_node+' | head -n 3 | grep .; }

exec 3>/tmp/remarks
verdict "faults: of a load" without_leak loads
verdict "faults: of an experiment" without_leak plain
verdict "faults: of a perturbed one" without_leak perturbed
verdict "faults: of uncontended pairs" without_leak pairs
verdict "faults: of whole pages" without_leak whole_pages
verdict "faults: of who reads and writes its files" without_leak accesses
verdict "faults: of its threads" without_leak threads_made
verdict "faults: no splat" no_splat
sed 's/^/# /' /tmp/remarks
finish
