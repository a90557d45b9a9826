# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# Every lock under every check; busted is found.
only=${1:-}
# shellcheck source=tests/guest/verdict.sh
. /verdict

# experiment SECONDS WORD... : load, run to the end, keep results, unload.
experiment() {
	limit=$1
	shift
	insmod /handover.ko stat_interval=0 "$@" || return 1
	await '[dhf]' "$limit" || return 1
	cp $debug/results /tmp/results
	rmmod handover
}

rows() { tail -n +2 /tmp/results | wc -l; }
failing() { awk -F, 'NR > 1 && $8 != 0' /tmp/results | wc -l; }
idle() { awk -F, 'NR > 1 && $6 == 0' /tmp/results | wc -l; }

# Every run of a lock with tickets began before the wrap of 2^32 and went past it; the log says from where.
wrapped() {
	paste -d' ' /tmp/first /tmp/sum | awk '$1 == "-" { next }
		$1 + $2 < 4294967296 || $1 >= 4294967296 { print "from " $1 " by " $2; bad = 1 }
		END { exit bad }' || return 1
	for first in $(grep -v '^-' /tmp/first); do
		dmesg | grep -q "handover: .*-torture: Writes: .*, first ticket $first)" || { echo "no $first in the log"; return 1; }
	done
}

# All writers of each lock acquire, nothing fails, and every run has a row. (Eight writers on
# four CPUs get there within a second unless the host stands still: only for that, up to three
# times. Nothing may fail in any.)
clean() {
	for _ in 1 2 3; do
		experiment 60 torture_type="$1" nwriters_stress=1,2,4,8 duration=1 runs=1 || return 1
		[ "$(rows)" -eq 4 ] && [ "$(failing)" -eq 0 ] || break
		[ "$(idle)" -ne 0 ] || {
			column first_ticket /tmp/results >/tmp/first
			column acquisitions /tmp/results >/tmp/sum
			case $1 in twa | ticket | one_word_twa) ! grep -q '^-' /tmp/first || { cat /tmp/results; return 1; } ;; esac
			wrapped
			return
		}
	done
	cat /tmp/results
	return 1
}

# Each run draws its own.
drawn() {
	experiment 90 torture_type=ticket nwriters_stress=16 duration=1 runs=4 seed=3 || return 1
	[ "$(column first_ticket /tmp/results | sort -u | wc -l)" -gt 1 ] || { cat /tmp/results; return 1; }
}

# busted, with the checks $1 alone, fails in $2 of $2 runs; by the columns $3.
found() {
	experiment 90 torture_type=busted nwriters_stress=2 duration=1 runs="$2" checks="$1" \
		verbose=0 || return 1
	caught=$(awk -F, -v column="$3" 'NR > 1 && $column != 0' /tmp/results | wc -l)
	[ "$(rows)" -eq "$2" ] && [ "$(failing)" -eq "$2" ] && [ "$caught" -eq "$2" ] && return
	cat /tmp/results
	return 1
}

# busted with no check on: the run ends and nothing is claimed.
unchecked() {
	experiment 30 torture_type=busted nwriters_stress=2 duration=1 runs=1 checks=none || return 1
	[ "$(rows)" -eq 1 ] && [ "$(failing)" -eq 0 ]
}

# A thousand times the work, in the section or outside, costs at least 70 times the throughput: it is
# really done. (Seen: 85 to 324 times.) A host that is slow or stands still makes every figure less: of
# each the best of up to five.
worked() {
	few=0 inside=0 outside=0
	for _ in 1 2 3 4 5; do
		few=$(best $few 20 0) && inside=$(best $inside 20000 0) && outside=$(best $outside 0 40000) || return 1
		[ $inside -gt 0 ] && [ $outside -gt 0 ] && [ $few -gt $((inside * 70)) ] && [ $few -gt $((outside * 70)) ] && return
	done
	echo "20 steps: $few, 20000 steps: $inside, 40000 steps outside: $outside"
	return 1
}
# best BEFORE STEPS OUTSIDE [WRITERS] : the acquisitions of another run, if they are more.
best() {
	experiment 60 torture_type=twa nwriters_stress=${4:-1} duration=1 runs=1 cs_steps=$2 ncs_steps=$3 >&2 || return 1
	awk -F, -v best=$1 'NR == 2 { print ($5 > best ? $5 : best) }' /tmp/results
}

# Two writers whose work is outside acquire at least two thirds of what one does. Two whose work, as much on the average,
# is in the section acquire no more than one, and less than three quarters of those. (Where the host is idle, twice and
# once what one does is due. On a busy host the one that waits costs the other its CPU: seen was once, and a tenth. Of
# each the best of twelve, judged once: rounds until all hold would give a fault twelve chances.)
placed() {
	alone=0 inside=0 outside=0
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
		alone=$(best $alone 20000 0) && inside=$(best $inside 20000 0 2) && outside=$(best $outside 0 40000 2) || return 1
	done
	echo "inside: one writer $alone, two $inside; outside: two $outside"
	[ $inside -gt 0 ] && [ $((outside * 3)) -ge $((alone * 2)) ] && [ $((inside * 10)) -le $((alone * 13)) ] &&
		[ $((inside * 4)) -le $((outside * 3)) ]
}

# What writers acquire before all have begun does not count. On one CPU at 250 Hz a run of a second has fewer time slices
# than there are writers. So some writer has no share in it, although each acquired before.
uncounted() {
	for cpu in 1 2 3; do echo 0 >/sys/devices/system/cpu/cpu$cpu/online || return 1; done
	experiment 120 torture_type=twa nwriters_stress=1024 duration=1 runs=1 cs_steps=50000 ncs_steps=0
	rc=$?
	for cpu in 1 2 3; do echo 1 >/sys/devices/system/cpu/cpu$cpu/online || return 1; done
	cat /tmp/results
	[ $rc -eq 0 ] && [ "$(rows)" -eq 1 ] && [ "$(failing)" -eq 0 ] && [ "$(idle)" -eq 1 ] &&
		[ "$(column acquisitions /tmp/results)" -gt 0 ]
}

for lock in $(locks lock); do
	verdict "torture $lock" clean $lock
done
verdict "each run draws its first ticket" drawn
verdict "busted is found in 20 of 20 runs" found all 20 8
verdict "busted is found by owner alone" found owner 3 9
verdict "busted is found by counter alone" found counter 3 10
verdict "busted with no check is not judged" unchecked
verdict "the writers' work is done" worked
verdict "the writers' work is done in its place" placed
verdict "no acquisition of the warm-up counts" uncounted
finish
