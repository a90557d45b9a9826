# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# locktorture.sh LOCK:SECONDS... : the kernel's own locktorture on each lock for so many seconds, with all that it can do to
# it. A lock is a torture_type: handover_NAME, or one of locktorture's own. The console has a line before and after each.
# shellcheck source=tests/guest/verdict.sh
. /verdict

insmod /locktorture/torture.ko || exit 1
insmod /handover.ko experiment=none || exit 1
known=$(dmesg | sed -n 's/.*handover: locktorture knows \([0-9]*\) locks as handover_NAME.*/\1/p')
[ "$known" = "$(wc -l </locks)" ] || { echo "${known:-no} locks are offered, of $(wc -l </locks)"; exit 1; }

# What locktorture and torture.c can do to a lock. A time is in jiffies, but for onoff_interval and onoff_holdoff, in seconds, and
# long_hold, in milliseconds. (Below two jiffies there is no stutter.)
perturbations="stutter=5 shuffle_interval=1 onoff_interval=1 onoff_holdoff=1 long_hold=3 nested_locks=8 rt_boost=2 \
rt_boost_factor=50 call_rcu_chains=2 acq_writer_lim=5000"

# look : what is done to the writers, a word each that is added to /tmp/seen. `boosted`: one is a real-time thread: the 41st
# word of its stat is 1, SCHED_FIFO. `paused`: none of them wants a CPU. `shuffled`: one may not use all CPUs. (A kernel
# thread's name is whole there, from 15 letters on too.)
look() {
	cat /proc/[0-9]*/stat 2>/dev/null | awk '$2 == "(lock_torture_writer)" { many++; wants += $3 == "R"; boosted += $41 == 1 }
		END { if (boosted) print "boosted"; if (many && !wants) print "paused" }' >>/tmp/seen
	cat /proc/[0-9]*/status 2>/dev/null | awk -v all="$(cat /sys/devices/system/cpu/possible)" '
		/^Name:/ { writer = $2 == "lock_torture_writer" }
		writer && /^Cpus_allowed_list:/ && $2 != all { few++ }
		END { if (few) print "shuffled" }' >>/tmp/seen
}

tortured() {
	seconds=$2
	: >/tmp/seen
	echo "@@ lock $1" >/dev/kmsg
	# shellcheck disable=SC2086 # words
	insmod /locktorture/locktorture.ko torture_type="$1" stat_interval=5 verbose=1 $perturbations || return 1
	# A lock under torture keeps the module.
	case $1 in handover_*) [ "$(cat /sys/module/handover/refcnt)" -gt 0 ] || { echo "the module may go"; return 1; } ;; esac
	# By the clock, for a look takes a part of a second too; and so many looks as see all that is done.
	read -r now _ </proc/uptime
	end=$((${now%.*} + seconds + 1)) looks=0
	while [ "${now%.*}" -lt "$end" ] || [ $looks -lt "$((seconds < 15 ? seconds : 15))" ]; do
		sleep 1
		look
		looks=$((looks + 1))
		read -r now _ </proc/uptime
	done
	rmmod locktorture || return 1
	echo "@@ seen: $(sort -u /tmp/seen | paste -sd' ')." >/dev/kmsg
	echo "@@ over $1" >/dev/kmsg
}
for lock; do verdict "${lock%:*} was tortured" tortured "${lock%:*}" "${lock#*:}"; done

# counted CS NCS : how often one writer acquired. Steps inside are CS, those outside up to NCS.
counted() {
	mark
	insmod /locktorture/locktorture.ko torture_type=raw_spin_lock nwriters_stress=1 cs_steps="$1" ncs_steps="$2" long_hold=1 \
		stat_interval=1 stutter=0 shuffle_interval=0 onoff_interval=0 rt_boost=0 call_rcu_chains=0 acq_writer_lim=0 || return 1
	usleep 2500000
	rmmod locktorture || return 1
	since | tr -d '\r' >/tmp/lines
	grep -q "cs_steps=$1 long_hold=1 ncs_steps=$2 nested_locks=0 " /tmp/lines || { grep 'torture:---' /tmp/lines; return 1; }
	# Steps are in the place of the delays, of which one section in 2000 had one.
	! grep 'write_delay: delay' /tmp/lines || return 1
	sed -n 's/.* Writes:  Total: \([0-9]*\) .*/\1/p' /tmp/lines | tail -n 1
}
# A step takes as long inside as outside, where half of the bound is drawn in the middle. (A host that stands still shifts what
# is seen: one of five looks must show it.)
worked() {
	for _ in 1 2 3 4 5; do
		none=$(counted 0 0) && inside=$(counted 2000 0) && outside=$(counted 0 4000) || { echo "$none $inside $outside"; return 1; }
		seen=$(awk -v none="$none" -v inside="$inside" -v outside="$outside" 'BEGIN {
			if (none < 5 * inside || inside > 1.3 * outside || outside > 1.3 * inside) print none " without steps, " inside " with 2000 inside, " outside " with 0 to 3999 outside" }')
		[ -n "$seen" ] || return 0
	done
	echo "$seen"
	return 1
}
[ $# -eq 1 ] || verdict "locktorture's steps" worked
# in_turns CS NCS : how often two writers of one CPU acquired, and how often the kernel took the CPU from one of them.
in_turns() {
	mark
	insmod /locktorture/locktorture.ko torture_type=raw_spin_lock nwriters_stress=2 cs_steps="$1" ncs_steps="$2" long_hold=1 \
		stat_interval=1 stutter=0 shuffle_interval=0 onoff_interval=0 rt_boost=0 call_rcu_chains=0 acq_writer_lim=0 || return 1
	them=$(grep -l '^lock_torture_wr' /proc/[0-9]*/comm | cut -d/ -f3)
	for writer in $them; do taskset -p 2 "$writer" >/dev/null || return 1; done
	sleep 3
	turns=$(for writer in $them; do cat "/proc/$writer/status"; done | awk '/^nonvol/ { all += $2; n++ } END { print n == 2 ? all : "" }')
	rmmod locktorture || return 1
	echo "$(since | tr -d '\r' | sed -n 's/.* Writes:  Total: \([0-9]*\) .*/\1/p' | tail -n 1) ${turns:-of other writers}"
}
# Who holds a lock keeps its CPU, so turns are fewer than sections whose steps are inside. Steps outside are many turns long.
in_place() {
	inside=$(in_turns 5000000 0) && outside=$(in_turns 0 10000000) || { echo "$inside $outside"; return 1; }
	echo "$inside $outside" | awk '{
		print $2 " turns in " $1 " inside, " $4 " in " $3 " outside"
		exit !(NF == 4 && $1 > 0 && $3 > 0 && $2 <= 2 * $1 + 10 && $4 > 4 * $3 + 10) }'
}
[ $# -eq 1 ] || verdict "locktorture's steps are where they are said to be" in_place

# Boosts and moves are there where they are asked for alone. (Boosts would be many: the factor is one.)
unasked() {
	: >/tmp/seen
	insmod /locktorture/locktorture.ko torture_type=handover_twa rt_boost=1 rt_boost_factor=1 stutter=0 shuffle_interval=0 \
		onoff_interval=0 call_rcu_chains=0 || return 1
	for _ in 1 2 3 4 5 6 7 8; do
		usleep 300000
		look
	done
	rmmod locktorture || return 1
	! grep 'boosted\|shuffled' /tmp/seen
}
[ $# -eq 1 ] || verdict "what locktorture is not asked for" unasked

# misspelt : a type's beginning, its end, a longer name and another case are no type.
misspelt() {
	for name in handover_tw handover_twa_ handover_ andover_twa handover_TWA; do
		mark
		! insmod /locktorture/locktorture.ko torture_type=$name 2>/dev/null || { rmmod locktorture; echo "$name is tortured"; return 1; }
		since | grep -q "invalid torture type: \"$name\"" || { since; return 1; }
	done
}
[ $# -eq 1 ] || verdict "a type that nobody offers" misspelt

# taken : another module has the name of a lock. Those before it in the list are offered, and taken back.
taken() {
	rmmod handover && mark && insmod /locktorture/taken.ko && insmod /handover.ko experiment=none || { since; return 1; }
	since | grep -q 'taken: -22 -22 -22 -22 0 -17' && since | grep -q "handover: locktorture does not take twa: $(errname EEXIST 17)" || { since; return 1; }
	! since | grep 'locktorture knows' || return 1
	rmmod handover && rmmod taken && insmod /handover.ko experiment=none
}

gone() {
	[ "$(cat /sys/module/handover/refcnt)" -eq 0 ] || { echo "references are left"; return 1; }
	# What it offered is taken back: it may offer all again.
	mark
	rmmod handover && insmod /handover.ko experiment=none || return 1
	since | grep -q "handover: locktorture knows $known locks" || { since; return 1; }
	rmmod handover && rmmod torture
}
[ $# -eq 1 ] || verdict "a name that another module has" taken
verdict "all modules can go" gone
echo "@@ perturbations $perturbations"
finish
