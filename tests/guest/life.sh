# Loading, unloading, hotplug: nothing hangs, nothing is left.
# shellcheck source=tests/guest/tell.sh
. /tell

threads() { ps | grep -c '[h]andover_'; }
slab_kb() { awk '/^Slab:/ { print $2 }' /proc/meminfo; }

left() {
	[ "$(threads)" -eq 0 ] || { ps | grep '[h]andover_'; return 1; }
	[ ! -e $debug ] || { echo "debugfs entries are left"; return 1; }
	! lsmod | grep -q '^handover' || { echo "still loaded"; return 1; }
}

# reload N : loads, which starts an experiment, and unloads.
reload() {
	i=0
	while [ $i -lt "$1" ]; do
		insmod /handover.ko torture_type=twa,spin_lock nwriters_stress=4 duration=1 runs=1 verbose=0 || return 1
		rmmod handover || return 1
		i=$((i + 1))
	done
	left
}

# Before and after fifty, caches warm: less than 1 MB more slab.
reloads() {
	reload 5 || return 1
	sleep 1
	before=$(slab_kb)
	reload 50 || return 1
	sleep 1
	after=$(slab_kb)
	[ $((after - before)) -lt 1024 ] || { echo "slab grew from $before to $after kB"; return 1; }
}

# Removed in mid-run, at different moments of it.
removals() {
	i=0
	while [ $i -lt 20 ]; do
		insmod /handover.ko torture_type=all nwriters_stress=1,4,9 duration=1 runs=9 verbose=0 || return 1
		usleep $((i * 97000))
		grep -q '^state: running' $debug/status || { cat $debug/status; return 1; }
		rmmod handover || return 1
		i=$((i + 1))
	done
	left
}

# control, then removed at once: the request is dropped or stopped.
asked() {
	insmod /handover.ko experiment=none || return 1
	grep -q '^state: idle' $debug/status || { cat $debug/status; return 1; }
	i=0
	while [ $i -lt 5 ]; do
		echo "torture_type=ticket nwriters_stress=2 duration=30" >$debug/control || return 1
		rmmod handover || return 1
		insmod /handover.ko experiment=none || return 1
		i=$((i + 1))
	done
	rmmod handover || return 1
	left
}

# A file held open keeps the module; closed, it goes.
held() {
	insmod /handover.ko experiment=none || return 1
	exec 3<$debug/results
	! rmmod handover 2>/dev/null || { echo "removed under an open file"; return 1; }
	read -r header <&3
	exec 3<&-
	case $header in lock,writers,*) ;; *) echo "read: $header"; return 1 ;; esac
	rmmod handover || return 1
	left
}

# $1 writers of each lock while CPUs come and go, three times or more. (The experiment ends by the
# clock; on a slow host it comes again, up to five times, and each is to be clean.)
hotplug() {
	cycles=0
	for _ in 1 2 3 4 5; do
		insmod /handover.ko torture_type=twa,ticket,raw_spin_lock nwriters_stress="$1" duration=4 runs=1 ||
			return 1
		while grep -q '^state: running' $debug/status; do
			for cpu in 3 2 1; do echo 0 >/sys/devices/system/cpu/cpu$cpu/online || return 1; done
			for cpu in 1 2 3; do echo 1 >/sys/devices/system/cpu/cpu$cpu/online || return 1; done
			cycles=$((cycles + 1))
		done
		settled 3 || return 1
		[ $cycles -lt 3 ] || return 0
	done
	echo "only $cycles cycles"
	return 1
}

# $1 rows, no failure; then unloads.
settled() {
	await done 60 || return 1
	rows=$(awk -F, 'NR > 1 && $8 == 0 && $5 > 0' $debug/results | wc -l)
	[ "$rows" -eq "$1" ] || { cat $debug/results; return 1; }
	rmmod handover
}

crowd() {
	insmod /handover.ko torture_type=twa,ticket,raw_spin_lock nwriters_stress=64 duration=2 runs=1 ||
		return 1
	settled 3
}

verdict "50 reloads leave nothing" reloads
verdict "20 removals in mid-run" removals
verdict "removals with a request pending" asked
verdict "an open file keeps the module" held
verdict "64 writers on 4 CPUs" crowd
verdict "CPU hotplug under 4 writers" hotplug 4
verdict "CPU hotplug under 64 writers" hotplug 64
finish
