# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# The perf of the kernel's source tells by BPF who contends for a lock of ours, and delays the owners of one that it is
# told by its symbol. Needs a kernel with BTF: the stock one.
only=${1:-}
# shellcheck source=tests/guest/verdict.sh
. /verdict
PATH=$PATH:/usr/bin
mount -t tracefs trace /sys/kernel/tracing 2>/dev/null
mount -t bpf bpf /sys/fs/bpf 2>/dev/null

# contention OPTION... : two seconds of all waits, a row a lock: contended, avg_wait in ns, and which.
contention() { perf lock contention -a -b -F contended,avg_wait -x , "$@" -- sleep 2 2>/tmp/rows >/dev/null || { cat /tmp/rows; return 1; }; }

# row LOCK : the row of that lock, by words; perf leaves no symbol of a lock that is none of the kernel's own statics.
row() { grep -m 1 "$1" /tmp/rows | tr -d ' ' | tr ',' ' '; }

by_address() {
	contention -l || return 1
	address=$(sed -n 's/^\([0-9a-f]*\) . CONTENDED_DELAYED\t.*/\1/p' /proc/kallsyms)
	[ -n "$address" ] || { echo "no symbol"; return 1; }
	# shellcheck disable=SC2046 # words
	set -- $(row "CONTENDED_DELAYED\|$address")
	[ "${1:-0}" -gt 20 ] || { echo "nothing at $address"; head -n 20 /tmp/rows; return 1; }
}

by_caller() {
	contention || return 1
	# shellcheck disable=SC2046 # words
	set -- $(row contended_once)
	[ "${1:-0}" -gt 20 ] || { cat /tmp/rows; return 1; }
}

# average LOCK : of its last waits, in microseconds.
average() {
	# shellcheck disable=SC2046 # words
	set -- $(row "$1")
	echo $((${2:-0} / 1000))
}

# Where perf delays the owners of one lock, its waits are longer, and the other's are not.
delayed() {
	contention -l -J 5ms@CONTENDED_DELAYED || return 1
	waits=$(average CONTENDED_DELAYED) others=$(average CONTENDED_OTHER)
	[ "$waits" -gt 4000 ] && [ "$others" -gt 0 ] && [ "$others" -lt $((waits / 2)) ] || { echo "$waits us, and $others us"; cat /tmp/rows; return 1; }
}

# The control: a name that is no lock's delays nobody. Both locks are waited for alike, however busy the host is.
unknown() {
	contention -l -J 5ms@CONTENDED_NOBODY || return 1
	grep -q 'ignore unknown symbol: CONTENDED_NOBODY' /tmp/rows || { cat /tmp/rows; return 1; }
	waits=$(average CONTENDED_DELAYED) others=$(average CONTENDED_OTHER)
	[ "$others" -gt 0 ] && [ "$waits" -gt $((others / 2)) ] && [ "$waits" -lt $((others * 2)) ] ||
		{ echo "$waits us, and $others us"; cat /tmp/rows; return 1; }
}

verdict "loaded" insmod /contended.ko
verdict "perf lock contention -b: by lock" by_address
verdict "perf lock contention -b: by caller" by_caller
verdict "perf lock contention -b --inject-delay" delayed
verdict "perf lock contention -b --inject-delay: no such lock" unknown
verdict "unloaded" rmmod contended
finish
