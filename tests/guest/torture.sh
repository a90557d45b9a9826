# Every lock under every check; busted is found. Arguments: "LOCK ..." WRITERS.
# shellcheck source=tests/guest/tell.sh
. /tell

# experiment SECONDS WORD... : load, run to the end, keep results, unload.
experiment() {
	limit=$1
	shift
	insmod /handover.ko stat_interval=0 "$@" || return 1
	await '[dh]' "$limit" || return 1
	cp $debug/results /tmp/results
	rmmod handover
}

rows() { tail -n +2 /tmp/results | wc -l; }
failing() { awk -F, 'NR > 1 && $8 != 0' /tmp/results | wc -l; }
idle() { awk -F, 'NR > 1 && $6 == 0' /tmp/results | wc -l; }

# All writers of each lock acquire, nothing fails, and every run has a row.
clean() {
	experiment 60 torture_type="$1" nwriters_stress=1,2,4,8 duration=1 runs=1 || return 1
	[ "$(rows)" -eq 4 ] && [ "$(failing)" -eq 0 ] && [ "$(idle)" -eq 0 ] && return
	cat /tmp/results
	return 1
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
# really done. (Seen: 85 to 324 times. One run comes after the other, on a host whose speed changes
# between them: up to three times.)
worked() {
	costs >/tmp/why || costs >/tmp/why || costs >/tmp/why || { cat /tmp/why; return 1; }
}
costs() {
	experiment 30 torture_type=twa nwriters_stress=1 duration=1 runs=1 cs_steps=20 ncs_steps=0 || return 1
	few=$(awk -F, 'NR == 2 { print $5 }' /tmp/results)
	experiment 30 torture_type=twa nwriters_stress=1 duration=1 runs=1 cs_steps=20000 ncs_steps=0 || return 1
	many=$(awk -F, 'NR == 2 { print $5 }' /tmp/results)
	[ "$few" -gt $((many * 70)) ] || { echo "20 steps: $few, 20000 steps: $many"; return 1; }
	experiment 30 torture_type=twa nwriters_stress=1 duration=1 runs=1 cs_steps=0 ncs_steps=40000 || return 1
	many=$(awk -F, 'NR == 2 { print $5 }' /tmp/results)
	[ "$few" -gt $((many * 70)) ] || { echo "20 steps: $few, 40000 steps outside: $many"; return 1; }
}

for lock in twa ticket spin_lock raw_spin_lock; do
	verdict "torture $lock" clean $lock
done
verdict "busted is found in 20 of 20 runs" found all 20 8
verdict "busted is found by owner alone" found owner 3 9
verdict "busted is found by counter alone" found counter 3 10
verdict "busted with no check is not judged" unchecked
verdict "the writers' work is done" worked
finish
