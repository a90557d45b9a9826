# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# Every lock under every check; busted is found.
only=${1:-}
# shellcheck source=tests/guest/verdict.sh
. /verdict

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
			case $1 in
			twa | ticket | one_word_twa) ! grep -q '^-' /tmp/first ;;
			*) ! grep -qv '^-' /tmp/first ;;
			esac || { cat /tmp/results; return 1; }
			wrapped
			return
		}
	done
	cat /tmp/results
	return 1
}

# Locks for interrupt handlers have tickets where the lock that each of them is has some.
of_interrupts() {
	experiment 60 torture_type="$(locks irq | paste -sd,)" nwriters_stress=4 duration=1 runs=1 && [ "$(failing)" -eq 0 ] || { cat /tmp/results; return 1; }
	column first_ticket /tmp/results >/tmp/first
	column lock /tmp/results | sed 's/_irq$//' | paste -d' ' - /tmp/first | awk '
		{ is_ours = $1 ~ /^(twa|ticket|one_word_twa)$/; ours += is_ours; if (is_ours == ($2 == "-")) { print; bad = 1 } }
		END { exit bad || ours != 3 }'
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

# Two sections at a time count once: where they are long, of two writers much is lost. (Where the host lets both run.)
loses() {
	for _ in 1 2 3 4 5; do
		experiment 30 torture_type=busted nwriters_stress=2 duration=1 runs=1 checks=counter cs_steps=20000 ncs_steps=0 || return 1
		awk -F, 'NR == 2 { exit !($10 * 5 > $5) }' /tmp/results && return
	done
	cat /tmp/results
	return 1
}

# busted with no check on: the run ends and nothing is claimed.
unchecked() {
	experiment 30 torture_type=busted nwriters_stress=2 duration=1 runs=1 checks=none || return 1
	[ "$(rows)" -eq 1 ] && [ "$(failing)" -eq 0 ]
}

# seconds_until COMMAND... : how long it took to succeed, in seconds; 60 is too long.
seconds_until() {
	read -r from _ </proc/uptime
	until "$@"; do
		read -r now _ </proc/uptime
		[ $((${now%.*} - ${from%.*})) -lt 60 ] || break
		usleep 100000
	done
	read -r now _ </proc/uptime
	echo $((${now%.*} - ${from%.*}))
}
# Writers of a CPU that is the loops' do not begin. Who stops the run is heard at once. Nobody looks for stalls, so that the
# writers are waited for, for a second more than `stall_secs`. Then they hang: there is a row that says so, the module stays, and
# takes no more requests. (So it is the last of these.)
stuck() {
	insmod /handover.ko experiment=none || return 1
	mark
	hog_cpu_3 || return 1
	echo "torture_type=twa nwriters_stress=2 bind_writers=3 checks=owner,counter,order stall_secs=7 duration=60" >$debug/control
	# They are waited for five seconds before the warm-up.
	sleep 6
	echo stop >$debug/control
	took=$(seconds_until grep -q '^state: hung' $debug/status)
	# Who hangs is runnable, and who has left sleeps. (On a busy host one may have had its moment.)
	there=$(writers | while read -r status; do grep '^State:.R' "$status"; done | wc -l)
	leave_cpu_3
	[ "$took" -ge 6 ] && [ "$took" -le 11 ] || { echo "after $took s"; head -n 2 $debug/status; since; return 1; }
	[ "$there" -ge 1 ] && rows_hold && [ "$(column hung) $(column failures) $(column acquisitions)" = "$there $there 0" ] || { cat $debug/results; since; return 1; }
	since | grep -q "handover: twa: $there writers hang and cannot be stopped" || { since; return 1; }
	for words in torture_type=ticket stop; do
		said=$( (echo $words >$debug/control) 2>&1) && { echo "$words is taken"; return 1; }
		case $said in *"resource busy"*) ;; *) echo "$words: $said"; return 1 ;; esac
	done
	# The log and the state say why.
	[ "$(since | grep -c 'handover: control: busy: a lock hangs: experiment=torture torture_type=twa ')" -eq 2 ] || { since; return 1; }
	grep -qx 'state: hung: a lock could not be stopped, the module stays' $debug/status || { cat $debug/status; return 1; }
	! rmmod handover 2>/dev/null || { echo "the module goes"; return 1; }
}

for lock in $(locks lock); do
	verdict "torture $lock" clean $lock
done
verdict "locks for interrupts have their tickets" of_interrupts
verdict "each run draws its first ticket" drawn
verdict "busted is found in 20 of 20 runs" found all 20 8
verdict "busted is found by owner alone" found owner 3 9
verdict "busted is found by counter alone" found counter 3 10
verdict "busted loses counts of long sections" loses
verdict "busted with no check is not judged" unchecked
verdict "a stop while writers have no CPU" stuck
finish
