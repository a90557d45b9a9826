# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# locktorture.sh LOCK:SECONDS... : the kernel's own locktorture on each lock for so many seconds, with all that it can do to
# it. A lock is a torture_type: handover_NAME, or one of locktorture's own. The console has a line before and after each.
# shellcheck source=tests/guest/verdict.sh
. /verdict

insmod /locktorture/torture.ko || exit 1
insmod /handover.ko experiment=none || exit 1
known=$(dmesg | sed -n 's/.*handover: locktorture knows \([0-9]*\) locks as handover_NAME.*/\1/p')
[ -n "$known" ] || { echo "the locks are not offered"; exit 1; }

# What locktorture and torture.c can do to a lock. A time is in jiffies, but for onoff_interval and onoff_holdoff, in seconds, and
# long_hold, in milliseconds. (Below two jiffies there is no stutter.)
perturbations="stutter=5 shuffle_interval=1 onoff_interval=1 onoff_holdoff=1 long_hold=3 nested_locks=8 rt_boost=2 \
rt_boost_factor=50 call_rcu_chains=2 acq_writer_lim=5000"

tortured() {
	seconds=$2
	echo "@@ lock $1" >/dev/kmsg
	# shellcheck disable=SC2086 # words
	insmod /locktorture/locktorture.ko torture_type="$1" stat_interval=5 verbose=1 $perturbations || return 1
	# A lock under torture keeps the module.
	case $1 in handover_*) [ "$(cat /sys/module/handover/refcnt)" -gt 0 ] || { echo "the module may go"; return 1; } ;; esac
	sleep "$seconds"
	rmmod locktorture || return 1
	echo "@@ over $1" >/dev/kmsg
}
for lock; do verdict "${lock%:*} was tortured" tortured "${lock%:*}" "${lock#*:}"; done

gone() {
	[ "$(cat /sys/module/handover/refcnt)" -eq 0 ] || { echo "references are left"; return 1; }
	# What it offered is taken back: it may offer all again.
	mark
	rmmod handover && insmod /handover.ko experiment=none || return 1
	since | grep -q "handover: locktorture knows $known locks" || { since; return 1; }
	rmmod handover && rmmod torture
}
verdict "all modules can go" gone
echo "@@ perturbations $perturbations"
finish
