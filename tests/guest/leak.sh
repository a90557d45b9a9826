# Nothing that the module allocated is left behind: the kernel's kmemleak looks,
# after experiments that ended, that were stopped and that were removed.
# shellcheck source=tests/guest/tell.sh
. /tell
leak=/sys/kernel/debug/kmemleak

# What nobody refers to. It must be some seconds old and look alike in two scans; a
# stale word on some stack hides it from one scan, not from all.
unreferenced() {
	sleep 6
	for scan in 1 2 3 4 5 6; do
		echo scan >$leak || return 1
		found=$(cat $leak)
		[ -z "$found" ] || { echo "$found"; return 0; }
		sleep 1
	done
}

kept() {
	echo clear >$leak || return 1
	insmod /handover.ko torture_type=all nwriters_stress=1,4 duration=1 runs=1 || return 1
	await done 180 || return 1
	echo "torture_type=twa nwriters_stress=4 duration=60" >$debug/control || return 1
	echo stop >$debug/control || return 1
	await stopped 60 || return 1
	echo "experiment=uncontended runs=2" >$debug/control || return 1
	await done 180 || return 1
	rmmod handover || return 1
	insmod /handover.ko nwriters_stress=4 || return 1
	rmmod handover || return 1
	insmod /handover.ko runs=0 2>/dev/null && return 1
	found=$(unreferenced) || { echo "kmemleak does not look"; return 1; }
	[ -z "$found" ] || { echo "$found"; return 1; }
}

verdict "kmemleak finds nothing" kept
finish
