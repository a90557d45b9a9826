# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# Debian's own perf sees the waits for a lock of ours, by the kernel's events. Needs a kernel with them: the stock one.
# boot: --tree perf-files
only=${1:-}
# shellcheck source=tests/guest/verdict.sh
. /verdict
PATH=$PATH:/usr/bin
mount -t tracefs trace /sys/kernel/tracing 2>/dev/null

# recorded LOCK : a second of all waits, while writers contend; for the verdicts that follow, or the one that is asked for.
recorded() {
	insmod /handover.ko torture_type="$1" nwriters_stress=4 duration=0 verbose=0 || return 1
	acquires || return 1
	perf lock record -q -a -o /tmp/data -- sleep 1 || return 1
	echo stop >$debug/control
	await stopped 10
}
# most OPTION... : the row of the most waits, by words. perf has its rows go where errors go.
most() {
	perf lock contention -q -i /tmp/data -k contended -F contended,wait_total -E 1 -x , "$@" >/tmp/most 2>&1
	grep -m 1 '^ *[0-9]' /tmp/most | tr -d ' ' | tr ',' ' '
}

# One lock has the waits.
by_lock() {
	[ -e /tmp/data ] || recorded twa || return 1
	# shellcheck disable=SC2046 # words
	set -- $(most -l)
	[ "${1:-0}" -gt 20 ] || { echo "nothing is recorded"; cat /tmp/most; return 1; }
	echo "$1" >/tmp/waits
}
# All of them are of the writers' loop, which is three calls out from the event. perf pairs a wait's begin and its end by it.
by_caller() {
	by_lock || return 1
	# shellcheck disable=SC2046 # words
	set -- $(most --stack-skip 2)
	case $* in "$(cat /tmp/waits) "*spinlock*registry*twa*laps*) ;; *) echo "by lock $(cat /tmp/waits), by caller: $(cat /tmp/most)"; return 1 ;; esac
}

verdict "perf lock record" recorded twa
verdict "perf lock contention: by lock" by_lock
verdict "perf lock contention: by caller" by_caller
verdict "unloaded" rmmod handover
finish
