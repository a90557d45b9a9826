# Parameters and debugfs: what is refused and how, control, status, results.
# shellcheck source=tests/guest/tell.sh
. /tell

# refused PARAMETER VALUE : insmod fails with EINVAL, one line says why.
refused() {
	mark
	out=$(insmod /handover.ko "$1=$2" 2>&1) && { rmmod handover; echo "loaded"; return 1; }
	case $out in *"Invalid argument"* | *"invalid parameter"*) ;; *) echo "$out"; return 1 ;; esac
	# One line a load. (busybox's insmod loads twice if the first time fails.)
	said=$(since | sed -n 's/.*\(handover: .*\)/\1/p' | grep -v taint | sort -u)
	case $said in
	*"
"*) echo "$said"; return 1 ;;
	"handover: $1=$2: allowed: "*) ;;
	*) echo "said: $said"; return 1 ;;
	esac
	[ ! -e $debug ] || { echo "debugfs is left"; return 1; }
}

# said ERRNO-TEXT WORDS... : control refuses them so, and the state stays.
said() {
	before=$(grep -E '^(state|runs):' $debug/status)
	text=$1
	shift
	out=$( (echo "$*" >$debug/control) 2>&1) && { echo "taken: $*"; return 1; }
	case $out in *"$text"*) ;; *) echo "$out"; return 1 ;; esac
	[ "$(grep -E '^(state|runs):' $debug/status)" = "$before" ] || { echo "the state changed"; return 1; }
}

# Started by control, with insmod's values where no word says otherwise.
restarted() {
	echo "torture_type=ticket nwriters_stress=1,2 runs=2" >$debug/control || return 1
	await done 20 || return 1
	[ "$(tail -n +2 $debug/results | wc -l)" -eq 4 ] || { cat $debug/results; return 1; }
	[ "$(grep -c '^ticket,[12],[12],1\.' $debug/results)" -eq 4 ] || { cat $debug/results; return 1; }
}

# A reader in the middle of an experiment gets whole rows, ever more of them.
whole() {
	echo "torture_type=all nwriters_stress=1,2 runs=1" >$debug/control || return 1
	header=$(head -n 1 $debug/results)
	columns=$(echo "$header" | tr ',' '\n' | wc -l)
	last=0
	while grep -q '^state: running' $debug/status; do
		rows=$(awk -F, -v n="$columns" 'NF != n { print "torn: " $0; exit 1 } END { print NR - 1 }' \
			$debug/results) || { echo "$rows"; return 1; }
		[ "$rows" -ge "$last" ] || { echo "$last rows became $rows"; return 1; }
		last=$rows
	done
	[ "$(tail -n +2 $debug/results | wc -l)" -eq 8 ] || { cat $debug/results; return 1; }
	head -n 1 $debug/results | grep -q '^lock,writers,run,seconds,acquisitions,min,max,failures' ||
		{ echo "$header"; return 1; }
}

# EBUSY while one runs; stop stops it soon, and what was measured is kept.
busy() {
	echo "torture_type=twa nwriters_stress=2 runs=3 duration=60" >$debug/control || return 1
	said "Device or resource busy" "torture_type=ticket" || return 1
	echo stop >$debug/control || return 1
	await stopped 10 || return 1
	restarted
}

# Stopped between runs or in one: the rows of those that are over stay.
stopped_rows() {
	echo "torture_type=twa nwriters_stress=2 runs=50 duration=1" >$debug/control || return 1
	until [ "$(tail -n +2 $debug/results | wc -l)" -ge 2 ]; do sleep 1; done
	echo stop >$debug/control || return 1
	await stopped 10 || return 1
	rows=$(tail -n +2 $debug/results | wc -l)
	[ "$rows" -ge 2 ] && [ "$rows" -lt 50 ] || { cat $debug/results; return 1; }
	grep -q "^runs: $rows of 50" $debug/status || { cat $debug/status; return 1; }
}

# duration=0 runs until it is stopped.
endless() {
	echo "torture_type=twa nwriters_stress=1 duration=0" >$debug/control || return 1
	sleep 3
	grep -q '^state: running' $debug/status || { cat $debug/status; return 1; }
	echo stop >$debug/control
	await stopped 10
}

summary() {
	for word in median/s ratio max/min Jain failures kernel= RUST_INLINE_HELPERS= hypervisor_bit= \
		spinlock_slow_path= voids= seed= cpus=; do
		grep -q -- "$word" $debug/summary || { echo "no $word"; cat $debug/summary; return 1; }
	done
	for lock in twa ticket spin_lock raw_spin_lock busted; do
		grep -q "^$lock " $debug/locks || { echo "no $lock"; cat $debug/locks; return 1; }
	done
}

root_only() {
	for file in control:200 status:400 results:400 summary:400 locks:400; do
		mode=$(stat -c %a $debug/${file%:*})
		[ "$mode" = "${file#*:}" ] || { echo "$file is $mode"; return 1; }
	done
}

# dmesg: a line a run as locktorture's, the table, the end.
logged() {
	since | grep -q 'handover: twa-torture: Writes:  Total: [0-9]*  Max/Min: [0-9]*/[0-9]* .* Fail: 0' &&
		since | grep -q 'handover: --- End of test: SUCCESS' &&
		since | grep -q 'handover: --- Start of test: kernel=' || { since; return 1; }
}

for bad in torture_type=mcs torture_type=twa,twa torture_type= nwriters_stress=0 nwriters_stress=-2 \
	nwriters_stress=1025 nwriters_stress=two nwriters_stress=1,,2 nwriters_stress=4,4 cs_steps=-1 cs_steps=1000001 \
	ncs_steps=many ncs_steps=-1 duration=-1 duration=86401 runs=0 runs=1001 stat_interval=-1 \
	stat_interval=3601 verbose=2 seed=-1 seed=18446744073709551616 checks=hope checks= \
	stall_secs=0 stall_secs=601 experiment=yes; do
	verdict "refused: $bad" refused "${bad%%=*}" "${bad#*=}"
done

mark
insmod /handover.ko torture_type=twa nwriters_stress=2 duration=1 runs=1 || exit 1
verdict "the experiment that insmod asked for" await done 20
verdict "dmesg" logged
verdict "summary and locks" summary
verdict "files are root's" root_only
verdict "control starts another" restarted
verdict "whole rows in mid-run" whole
verdict "control: EBUSY, stop" busy
verdict "control: stop keeps what was measured" stopped_rows
verdict "control: duration=0" endless
verdict "control refuses an unknown word" said "Invalid argument" "speed=9"
verdict "control refuses a bad value" said "Invalid argument" "runs=2 duration=x"
verdict "control refuses to do nothing" said "Invalid argument" "experiment=none"
verdict "control refuses what is no word" said "Invalid argument" "faster"
verdict "control refuses nothing at all" said "Invalid argument" ""
verdict "control refuses too much" said "Invalid argument" "$(head -c 600 /dev/zero | tr '\0' x)"
rmmod handover || failed=1
finish
