# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# Writers that acquire nothing for a while: the watchdog tells when that is a stall, and which of them it names. Where nobody
# is to look for stalls, it is none, nor in the five seconds for which writers are waited for.
only=${1:-}
# shellcheck source=tests/guest/verdict.sh
. /verdict

# until_stalled LOOKS : CPU 3 is the loops' until the watchdog speaks (0), or for so many looks (1), at each of which /tmp/seen has
# what was acquired. 2: it was not theirs. Looks begin before that. $spoken is when the watchdog was heard. It then looks once more.
until_stalled() {
	looks=0
	acquired >/tmp/seen
	hog_cpu_3 || return 2
	until [ $looks -ge $1 ] || since | grep -q 'has acquired nothing'; do
		looks=$((looks + 1))
		acquired >>/tmp/seen
		usleep 100000
	done
	read -r spoken _ </proc/uptime
	usleep 300000
	leave_cpu_3 || return 2
	[ $looks -lt $1 ]
}
# stood UNTIL : how long before UNTIL the last look was that saw less than the last one of all, in hundredths of a second.
# Nothing of fewer than two looks.
stood() {
	awk -v until="$1" 'NR == 1 || $2 != last { since = NR == 1 ? $1 : before } { before = $1; last = $2 } END { if (NR > 1) printf "%d\n", (until - since) * 100 }' /tmp/seen
}

# Nobody acquires anything while a CPU is taken from all writers. That is a stall of each, eight of which are named. It
# ends, so nothing hangs, and the module can go. (Writers have five seconds to leave: this shell may be slow to end the loops.)
stalls() {
	mark
	begun duration=60 nwriters_stress=12 bind_writers=3 stall_secs=4 || return 1
	until_stalled 200 || return 1
	# The watchdog speaks when it has seen that for four seconds, and looks four times in one. A slow guest has few looks: what
	# they saw is too little, what lies between the last other one and the watchdog's word is too much.
	[ "$(stood "$spoken")" -ge 375 ] && [ "$(still)" -lt 700 ] || { paste -sd' ' /tmp/seen; since; return 1; }
	await failed 20 || { since; return 1; }
	[ "$(column progress_failures) $(column hung)" = "12 0" ] && [ "$(since | grep -c 'has acquired nothing for 4 s')" -eq 8 ] ||
		{ cat $debug/results; since; return 1; }
	# Each had acquired what the log says of it, of nearly all: it hears at once that the run is over.
	since | sed -n 's/.*handover: twa: writer \([0-9]*\) has acquired nothing for 4 s (after \([0-9]*\) acquisitions).*/\1 \2/p' |
		awk -F'[ ,]' 'FNR == NR { said[$1] = $2; next } $4 in said { n++; if (said[$4] > $6 || said[$4] < $6 * 0.9 - 10) print $4 " of " $6 ": " said[$4] }
			END { if (n != 8) print n + 0 " writers" }' - $debug/writers >/tmp/wrong
	[ ! -s /tmp/wrong ] || { cat /tmp/wrong $debug/writers; since; return 1; }
	rmmod handover && insmod /handover.ko experiment=none stat_interval=0
}

# The same, three times as long as it takes, where nobody looks for stalls. Nothing was acquired for as long.
unwatched() {
	mark
	begun duration=60 nwriters_stress=4 bind_writers=3 stall_secs=1 checks=owner,counter,order || return 1
	until_stalled 40
	[ $? -eq 1 ] && [ "$(still)" -gt 200 ] || { paste -sd' ' /tmp/seen; since; return 1; }
	echo stop >$debug/control && await stopped 20 || return 1
	[ "$(column failures)" = 0 ] && ! since | grep 'has acquired nothing' || { cat $debug/results; return 1; }
}

# Writers that do not come together have not stalled. They are waited for up to five seconds: this shell may be slow to end the
# loops, so that one of three runs is to show it.
gathers() {
	for _ in 1 2 3; do
		mark
		hog_cpu_3 || return 1
		echo "torture_type=twa nwriters_stress=4 bind_writers=3 stall_secs=1 duration=1 runs=1" >$debug/control || { leave_cpu_3; return 1; }
		usleep 2500000
		leave_cpu_3 || return 1
		await '[df]' 30 || return 1
		since | grep -q 'has acquired nothing' || { [ "$(column failures)" = 0 ] && return; }
	done
	cat $debug/results
	since
	return 1
}

# After five seconds the watchdog judges them whether they have come or not.
gathers_no_longer() {
	mark
	hog_cpu_3 || return 1
	echo "torture_type=twa nwriters_stress=4 bind_writers=3 stall_secs=1 duration=1 runs=1" >$debug/control || { leave_cpu_3; return 1; }
	looks=0
	until [ $looks -ge 100 ] || since | grep -q 'has acquired nothing for 1 s'; do
		looks=$((looks + 1))
		usleep 100000
	done
	leave_cpu_3 || return 1
	await '[df]' 30 || return 1
	[ $looks -lt 100 ] || { echo "the watchdog says nothing"; since; return 1; }
}

insmod /handover.ko experiment=none stat_interval=0 || exit 1
verdict "a stall that ends" stalls
verdict "a stall is none while writers gather" gathers
verdict "a stall of writers that do not gather" gathers_no_longer
verdict "a stall that is not looked for" unwatched
verdict "unloaded" rmmod handover
finish
