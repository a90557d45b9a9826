# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# What is done to writers: each perturbation is seen from outside, is counted, is taken back, and is in every result.
# Where none is asked for, none of it is there.
only=${1:-}
# shellcheck source=tests/guest/verdict.sh
. /verdict
online=/sys/devices/system/cpu/online
all_cpus=$(cat $online)

# ran SECONDS WORD... : an experiment to its end, of one run of twa where the words name no lock.
ran() {
	limit=$1
	shift
	echo "torture_type=twa nwriters_stress=2 runs=1 $*" >$debug/control && await done "$limit"
}
total() { column total $debug/writers | awk '{ sum += $1 } END { print sum + 0 }'; }

# 0 is SCHED_NORMAL, 1 SCHED_FIFO.
policies() { for status in $(writers); do cut -d' ' -f41 "${status%us}" 2>/dev/null; done; }
unique() { sort -u /tmp/seen | paste -sd' '; }

# Of a real-time thread's priority the kernel has 50 for those that need no other; else it is 0.
priorities() { for status in $(writers); do cut -d' ' -f40 "${status%us}" 2>/dev/null; done; }
# How the thread that waits for a run sleeps: D counts as load.
sleeps() { cat /proc/[0-9]*/status 2>/dev/null | awk '/^Name:/ { is_it = $2 ~ /^ho_control/ } is_it && /^State:/ { print $2 }'; }

# Asked for nothing, nothing is done.
nothing() {
	begun duration=2 || return 1
	seen eval "where; policies; cat $online" || return 1
	[ "$(unique)" = "0 $all_cpus" ] || { unique; return 1; }
	[ "$(column perturbations) $(column perturbed)" = "none none" ] || { cat $debug/results; return 1; }
	! grep -q 'PERTURBED\|^perturbed' $debug/summary || { cat $debug/summary; return 1; }
	begun duration=2 || return 1
	seen sleeps || return 1
	# At the last look it may wait for writers to leave.
	sed -i '$d' /tmp/seen
	case $(unique) in I | "I R" | "I R S" | "I S") ;; *) unique; return 1 ;; esac
	# (One run of three is to show it: who says how far it is may be late, and so may its end.)
	for _ in 1 2 3; do
		begun duration=2 || return 1
		seen acquired || return 1
		[ "$(still)" -lt 60 ] && return
	done
	paste -sd' ' /tmp/seen
	return 1
}

# All stop for a second and go on for one.
stutters() {
	# That long and no longer, in one run of five: a guest beside others has few looks.
	for _ in 1 2 3 4 5; do
		begun duration=4 stutter=1 || return 1
		seen acquired || return 1
		[ "$(did pauses)" -ge 1 ] && [ "$(did pauses)" -le 2 ] && [ "$(failing)" = 0 ] || break
		[ "$(still)" -ge 60 ] && [ "$(still)" -le 150 ] && return
	done
	did pauses
	paste -sd' ' /tmp/seen
	return 1
}
failing() { column failures | awk '$1 != 0' | wc -l; }

# Nobody is to acquire anything in a pause. A lock that hangs at another time is found.
pauses_are_no_stall() {
	ran 20 duration=4 stutter=2 stall_secs=1 || return 1
	[ "$(did pauses) $(failing)" = "1 0" ] || { cat $debug/results; return 1; }
}

shuffles() {
	# More moves than there are CPUs: after the last comes the first. Up to three runs: a guest beside others has few looks.
	: >/tmp/looks
	for _ in 1 2 3; do
		begun duration=7 nwriters_stress=3 shuffle_interval=1 || return 1
		seen where || return 1
		[ "$(did shuffles)" -ge 5 ] || { cat $debug/results; return 1; }
		cat /tmp/seen >>/tmp/looks
		others=$(sort -u /tmp/looks | grep -vx "$all_cpus" | paste -sd' ')
		for mask in $others; do
			case $mask in 1-3 | 0,2-3 | 0-1,3 | 0-2) ;; *) unique; return 1 ;; esac
		done
		[ "$(echo "$others" | wc -w)" -ne 4 ] || return 0
	done
	echo "$others"
	return 1
}

# Who is to do something an hour from now hears that the run is over.
hears_the_end() {
	ran 20 duration=1 stutter=60 shuffle_interval=3600 onoff_interval=3600 onoff_holdoff=3600 || return 1
	# A CPU is spared from the start on.
	[ "$(did pauses) $(did offlines) $(did shuffles)" = "0 0 1" ] || { cat $debug/results; return 1; }
	# It takes no longer than a run without them, and less than its second and another. (One of some pairs is to show it. What
	# keeps a run of none makes the pair alike.)
	for _ in 1 2 3 4 5; do
		with=$(length duration=1 stutter=60 shuffle_interval=3600 onoff_interval=3600 onoff_holdoff=3600) &&
			without=$(length duration=1) || return 1
		[ $((with - without)) -ge 50 ] || [ "$with" -ge 195 ] || return 0
	done
	echo "$with hundredths of a second, and $without"
	return 1
}
# length WORD... : how long the experiment is, in hundredths of a second.
length() {
	read -r from _ </proc/uptime
	echo "torture_type=twa nwriters_stress=2 runs=1 $*" >$debug/control || return 1
	while grep -q '^state: running' $debug/status; do usleep 20000; done
	read -r now _ </proc/uptime
	grep -q '^state: done' $debug/status && awk -v from="$from" -v now="$now" 'BEGIN { printf "%d\n", (now - from) * 100 }'
}

# bound_moves LOOK COMMAND : of writers that are bound to two CPUs and moved, looks are had until the command holds of them all,
# in up to three runs: a guest beside others has few.
bound_moves() {
	: >/tmp/looks
	for _ in 1 2 3; do
		begun duration=4 nwriters_stress=3 bind_writers=1-2 shuffle_interval=1 || return 1
		seen eval "$1" || return 1
		# Of four moves two spare a CPU on which they do not run anyhow. There is a move at the start, and at most one each second.
		[ "$(did shuffles)" -le $(($(column seconds | cut -d. -f1) / 2 + 1)) ] || { cat $debug/results; return 1; }
		cat /tmp/seen >>/tmp/looks
		! "$2" || return 0
	done
	uniq -c /tmp/looks
	return 1
}
moved_about() {
	case $(tr ' ' '\n' </tmp/looks | grep . | sort -u | paste -sd' ') in "1 1-2 2" | "1 2") ;; *) return 1 ;; esac
}
# Of the last run.
moved_together() {
	awk -v moves="$(did shuffles)" 'NF > 1 { if (++many > 1 || ++all > moves) bad = 1; next } { many = 0; one += NF } END { exit bad || !one }' /tmp/seen
}
binds() {
	begun duration=2 nwriters_stress=3 bind_writers=1-2 || return 1
	seen where || return 1
	[ "$(unique)" = 1-2 ] || { unique; return 1; }
	# shellcheck disable=SC2016 # at each look
	bound_moves 'echo $(where)' moved_about || return 1
	# All have the same, but for a look at which they are told: no two in a row.
	# shellcheck disable=SC2016 # at each look
	bound_moves 'echo $(where | sort -u)' moved_together || return 1
	begun duration=2 bind_writers=3 || return 1
	seen where || return 1
	[ "$(unique)" = 3 ] || { unique; return 1; }
}

# A CPU that is off line when they are bound is theirs when it comes.
binds_beforehand() {
	echo 0 >/sys/devices/system/cpu/cpu3/online || return 1
	begun duration=2 bind_writers=2-3
	rc=$?
	[ $rc -ne 0 ] || seen where || rc=1
	echo 1 >/sys/devices/system/cpu/cpu3/online
	[ $rc -eq 0 ] && [ "$(unique)" = 2-3 ] || { unique; return 1; }
}

# Their only CPU goes, and they run elsewhere; it comes back, and so do they. (Seed 6 draws CPU 3 twice, and then others.)
# Up to nine runs: a guest beside others has few looks.
stays_bound() {
	: >/tmp/looks
	for _ in 1 2 3 4 5 6 7 8 9; do
		begun duration=4 bind_writers=3 onoff_interval=1 seed=6 || return 1
		# shellcheck disable=SC2016 # at each look
		seen eval 'echo $(cat $online) $(where)' 2>/dev/null || return 1
		# A CPU that comes back is none that went: every other one of this seed's first five does.
		[ "$(did offlines)" -lt "$(column seconds | cut -d. -f1)" ] || { cat $debug/results; return 1; }
		awk '$1 == "0-2" { gone = 1; next } gone && NF == 3' /tmp/seen >>/tmp/looks
		[ "$(wc -l </tmp/looks)" -ge 4 ] || continue
		awk '$2 == "3" && $3 == "3" { there++ } END { exit !(there >= 0.7 * NR) }' /tmp/looks && return
		break
	done
	sort /tmp/looks | uniq -c
	return 1
}
# refused LOCK WORDS : with these perturbations CPU 3 is gone when the second run begins.
refused() {
	mark
	begun duration=2 runs=2 torture_type="$1" "$2" || return 1
	echo 0 >/sys/devices/system/cpu/cpu3/online || return 1
	await failed 20
	rc=$?
	echo 1 >/sys/devices/system/cpu/cpu3/online
	[ "$rc $(sed -n 's/^state: //p' $debug/status) $(column run)" = "0 failed: given up: $(errname EINVAL 22) 1" ] &&
		since | grep -q "handover: $1: 2 of 2 writers are refused their CPUs or timers: $2\$" || { cat $debug/status; since; return 1; }
}

nowhere() {
	(echo "torture_type=twa bind_writers=9-12" >$debug/control) 2>&1 | grep -q 'Invalid argument' || return 1
	dmesg | grep -q 'handover: bind_writers=9-12: allowed: CPUs of which one is online' || { dmesg | tail -n 5; return 1; }
	# One that is off line, between two that are not.
	mark
	echo 0 >/sys/devices/system/cpu/cpu1/online || return 1
	(echo "torture_type=twa bind_writers=1" >$debug/control) 2>/dev/null
	rc=$?
	echo 1 >/sys/devices/system/cpu/cpu1/online
	[ $rc -ne 0 ] && since | grep -q 'handover: bind_writers=1: allowed: CPUs of which one is online' || { since; return 1; }
}

# CPUs go and come; in the end all are back that were there, and no others.
goes_off_line() {
	begun duration=4 nwriters_stress=4 onoff_interval=1 || return 1
	seen cat $online || return 1
	[ "$(sort -u /tmp/seen | wc -l)" -ge 2 ] && [ "$(did offlines)" -ge 2 ] && [ "$(cat $online)" = "$all_cpus" ] &&
		[ "$(failing)" = 0 ] || { unique; cat $debug/results $online; return 1; }
	# One goes or comes at the start, and each second.
	[ "$(did offlines)" -le $(($(column seconds | cut -d. -f1) + 1)) ] || { cat $debug/results; return 1; }
	echo 0 >/sys/devices/system/cpu/cpu3/online || return 1
	# The first that this seed draws is CPU 3.
	begun duration=3 nwriters_stress=4 onoff_interval=1 seed=2 || return 1
	seen cat $online
	left=$(cat $online)
	echo 1 >/sys/devices/system/cpu/cpu3/online
	[ "$left" = 0-2 ] && ! grep -q 3 /tmp/seen || { echo "left $left"; unique; return 1; }
}

# Not always the same one goes. (Seed 6 draws CPU 3 twice, and then others. Up to three runs: a guest beside others has few
# looks.)
several_go() {
	for _ in 1 2 3; do
		begun duration=4 nwriters_stress=4 onoff_interval=1 seed=6 || return 1
		seen cat $online || return 1
		awk -v all="$all_cpus" '/3$/ && $0 != all { another = 1 } END { exit !another }' /tmp/seen && return
	done
	unique
	return 1
}

# third_goes WORD... : an experiment goes on, and CPU 3 is gone, which its seed draws first.
third_goes() {
	begun duration=60 onoff_interval=30 seed=2 "$@" || return 1
	i=0
	until [ "$(cat $online)" = 0-2 ]; do
		i=$((i + 1))
		[ $i -lt 200 ] || { echo "CPU 3 does not go"; stopped; return 1; }
		usleep 50000
	done
}

# goes_and_fails COMMAND... : a CPU goes. It cannot come back in the way that COMMAND brings about.
goes_and_fails() {
	cpu=/sys/devices/system/cpu
	step=$(sed -n 's/^ *\([0-9]*\): workqueue:online$/\1/p' $cpu/hotplug/states)
	mark
	third_goes stall_secs=1 || return 1
	"$@"
	rc=$?
	# Whatever it found, the next verdict has all CPUs.
	echo -1 >$cpu/cpu3/hotplug/fail
	! grep -q '^state: running' $debug/status || stopped
	echo 1 >$cpu/cpu3/online
	return $rc
}
# One that fails to come back is tried again, for a second.
tries_again() {
	echo "$step" >$cpu/cpu3/hotplug/fail || return 1
	stopped || return 1
	[ "$(cat $online) $(did away) $(failing)" = "$all_cpus 0 0" ] && [ "$(since | grep -c 'handover: CPU 3 does not come back')" -eq 1 ] ||
		{ cat $online $debug/results; since; return 1; }
}

# A CPU that somebody else brings back is there.
others_bring_back() {
	third_goes || return 1
	echo 1 >/sys/devices/system/cpu/cpu3/online || return 1
	stopped || return 1
	[ "$(did away) $(cat $online)" = "0 $all_cpus" ] || { cat $debug/results $online; return 1; }
}

holds_off() {
	ran 20 duration=2 onoff_interval=1 onoff_holdoff=30 || return 1
	[ "$(column perturbed)" = none ] || { cat $debug/results; return 1; }
}

# without COMMAND... : it is done while a CPU is off line; afterwards all are there.
without() {
	begun duration=60 onoff_interval=1 || return 1
	i=0
	while [ "$(cat $online)" = "$all_cpus" ]; do
		i=$((i + 1))
		[ $i -lt 200 ] || { echo "no CPU goes"; return 1; }
		usleep 50000
	done
	"$@" || return 1
	[ "$(cat $online)" = "$all_cpus" ] || { cat $online; return 1; }
}
stopped() { echo stop >$debug/control && await stopped 10; }
comes_back() {
	without stopped && without rmmod handover && insmod /handover.ko experiment=none stat_interval=0
}

# The kernel brings a CPU back in some hundred steps, and one of them fails as often as it is tried.
stays_away() {
	while echo "$step" >$cpu/cpu3/hotplug/fail; do usleep 1000; done &
	fails=$!
	echo stop >$debug/control
	await failed 20
	rc=$?
	kill $fails
	wait
	left=$(cat $online)
	echo -1 >$cpu/cpu3/hotplug/fail
	[ "$rc $left $(did away) $(sed -n 's/^state: //p' $debug/status)" = "0 0-2 1 failed: given up: $(errname EBUSY 16)" ] &&
		since | grep -q 'handover: 1 CPUs stay off line' || { echo "left $left"; cat $debug/status $debug/results; since; return 1; }
	[ "$(failing)" = 0 ] || { cat $debug/results; return 1; }
	# It is not forgotten: whoever takes CPUs next brings it back.
	ran 20 duration=1 onoff_interval=1 onoff_holdoff=30
	rc="$? $(cat $online)"
	[ "$rc" = "0 $all_cpus" ] || { echo "$rc"; return 1; }
}

boosts() {
	# Where few looks are had, all may find writers that are boosted.
	boosts=0 sections=0
	for _ in 1 2 3 4 5; do
		begun duration=3 rt_boost=2 || return 1
		seen policies || return 1
		boosts=$((boosts + $(did boosts))) sections=$((sections + $(total)))
		[ "$(unique)" != "0 1" ] || [ $boosts -le 10 ] || break
	done
	[ "$(unique)" = "0 1" ] && [ $boosts -gt 10 ] || { unique; cat $debug/results; return 1; }
	# By its default, 50: a boost each 300 sections. (Of 200 a third is five standard deviations.)
	[ $boosts -lt 200 ] || { [ $((boosts * 300 * 3)) -gt $((sections * 2)) ] && [ $((boosts * 300 * 3)) -lt $((sections * 4)) ]; } ||
		{ echo "$boosts boosts in $sections sections"; return 1; }
	# Seldom by its factor: a boost each 60,000 sections.
	often=$boosts all=$sections boosts=0 sections=0
	for _ in 1 2 3 4 5 6 7 8; do
		ran 20 duration=3 rt_boost=2 rt_boost_factor=10000 || return 1
		boosts=$((boosts + $(did boosts))) sections=$((sections + $(total)))
		[ $sections -lt 100000 ] || break
	done
	[ $((often * (sections / 100))) -gt $((boosts * 20 * (all / 100))) ] || { echo "$often in $all and $boosts in $sections"; return 1; }
	# One in writers * factor sections is a boost's first, and one in twice as many its last: of so many and half of it again
	# there is one boost. (Of 400 a quarter is seven standard deviations.)
	boosts=0 sections=0
	for _ in 1 2 3 4 5 6 7 8; do
		ran 20 duration=2 rt_boost=2 rt_boost_factor=5 || return 1
		boosts=$((boosts + $(did boosts))) sections=$((sections + $(total)))
		[ $boosts -lt 400 ] || break
	done
	[ $boosts -ge 400 ] && [ $((boosts * 30 * 4)) -gt $((sections * 3)) ] && [ $((boosts * 30 * 3)) -lt $((sections * 4)) ] ||
		{ echo "$boosts boosts in $sections sections"; return 1; }
}

is_fifo() {
	# At the run's end they are no longer so, which weighs where few looks are had.
	for _ in 1 2 3 4 5; do
		begun duration=2 writer_fifo=1 || return 1
		seen policies || return 1
		[ "$(failing)" = 0 ] || break
		[ "$(grep -cx 1 /tmp/seen)" -le $(($(wc -l </tmp/seen) * 9 / 10)) ] || break
	done
	[ "$(grep -cx 1 /tmp/seen)" -gt $(($(wc -l </tmp/seen) * 9 / 10)) ] && [ "$(failing)" = 0 ] || { unique; cat $debug/results; return 1; }
	for _ in 1 2 3; do
		begun duration=2 writer_fifo=1 || return 1
		seen priorities || return 1
		case $(unique) in "0 50" | 50) break ;; esac
	done
	case $(unique) in "0 50" | 50) ;; *) unique; return 1 ;; esac
	# More of them than CPUs: each gets there, and so does everybody else.
	ran 30 duration=2 writer_fifo=1 nwriters_stress=6 || return 1
	[ "$(failing) $(column min | grep -cvx 0) $(column nice)" = "0 1 19" ] || { cat $debug/results; return 1; }
	# They rest now and then, and work most of the time: a tenth of what others acquire is little. So is what two acquire who rest
	# after each section, for a millisecond at least. (One of some is to show it: a busy host may leave writers a tenth.)
	for _ in 1 2 3 4 5; do
		begun duration=4 writer_fifo=1 && seen acquired || return 1
		fifo=$(($(total) / 2))
		ran 20 duration=2 || return 1
		[ $((fifo * 10)) -le "$(total)" ] || [ "$(lately)" -lt 10000 ] || return 0
	done
	echo "$fifo of $(total), $(lately) a second"
	return 1
}
# lately : acquisitions a second, of the looks from half a second after the first one on.
lately() {
	awk 'NR == 1 { begun = $1 } $1 < begun + 0.5 { next } !since { since = $1; had = $2 }
		{ at = $1; has = $2 } END { print at < since + 0.5 ? 0 : int((has - had) / (at - since)) }' /tmp/seen
}

# A long hold is a wait that is too long, where the other writer has a CPU. (The host may take one for as long.)
holds_long() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
		echo "torture_type=twa nwriters_stress=2 runs=1 duration=5 long_hold=100 acq_writer_lim=$((hz / 20))" >$debug/control
		await '[df]' 20 || return 1
		grep -q '^state: failed' $debug/status && [ "$(did long_holds)" -gt 0 ] && break
	done
	[ "$(sed -n 's/^state: //p' $debug/status)" = "failed: twa failed its checks" ] || { cat $debug/status; return 1; }
	holds=$(did long_holds) waits=$(column wait_failures)
	[ "$holds" -gt 0 ] && [ "$waits" -gt 0 ] || { cat $debug/results; return 1; }
	[ "$(column wait_failures $debug/writers | awk '{ sum += $1 } END { print sum }')" = "$waits" ] || { cat $debug/writers; return 1; }
	dmesg | grep "handover: twa: failures: owner 0, counter 0, order 0, progress 0, wait $waits, deadlock 0, hung 0" >/dev/null || { dmesg | tail; return 1; }
	# A run has no room for more of them. (Holds of no time: seen were four times as many.)
	ran 20 duration=4 nwriters_stress=1 cs_steps=0 ncs_steps=0 long_hold=100 || return 1
	holds=$(did long_holds)
	[ "$holds" -gt 0 ] && [ "$holds" -le 45 ] || { cat $debug/results; return 1; }
	ran 20 duration=2 acq_writer_lim=$((hz * 1000)) || return 1
	[ "$(failing) $(did long_holds)" = "0 0" ] || { cat $debug/results; return 1; }
}

# A wait for a nested lock has no limit. (Now and then one waits for the section's own lock, of 64, or the host takes a CPU.)
# One section of 240,000 takes long, for each writer: on a busy host, five seconds may have none.
nested_unlimited() {
	hits=0
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
		echo "torture_type=twa nwriters_stress=2 runs=1 duration=5 cs_steps=0 ncs_steps=0 nlocks=64 nested_locks=8 long_hold=60 acq_writer_lim=$((hz / 25))" >$debug/control
		await '[df]' 20 || return 1
		if [ "$(did long_holds)" -ne 0 ]; then
			[ "$(failing)" -ne 0 ] || return 0
			hits=$((hits + 1))
			[ $hits -lt 5 ] || break
		fi
	done
	echo "$hits runs of a long section had a wait that was too long"
	cat $debug/results
	return 1
}

# One section in 2000 for each writer and each millisecond takes long. Writers of one CPU never wait for the lock, so that there
# are many. (Of 60 holds a third is more than two and a half standard deviations, and the next numbers are half and twice.)
of_sections() {
	holds=0 sections=0
	for _ in 1 2 3 4 5 6 7 8; do
		ran 20 duration=2 nwriters_stress=4 bind_writers=1 cs_steps=0 ncs_steps=0 long_hold=1 || return 1
		holds=$((holds + $(did long_holds))) sections=$((sections + $(total)))
		[ $holds -lt 60 ] || break
	done
	[ $holds -ge 60 ] && [ $((sections * 3)) -gt $((holds * 8000 * 2)) ] && [ $((sections * 3)) -lt $((holds * 8000 * 4)) ] ||
		{ echo "$holds holds in $sections sections"; return 1; }
}

# Writers of one CPU wait for it, and never for the lock: whoever has it is not preempted. (Of three runs one must show it: a host
# may take the CPU.)
for_a_cpu() {
	for _ in 1 2 3; do
		echo "torture_type=twa nwriters_stress=64 runs=1 duration=2 bind_writers=1 cs_steps=0 ncs_steps=0 acq_writer_lim=$((hz / 8))" >$debug/control || return 1
		await '[df]' 30 || return 1
		[ "$(column perturbations)" = "bind_writers=1+acq_writer_lim=$((hz / 8))" ] || { cat $debug/results; return 1; }
		[ "$(column wait_failures)" != 0 ] || return 0
	done
	cat $debug/results
	return 1
}

# Of N nested locks a section takes half.
nests() {
	for n in 3 8; do
		# Runs until 16,000 locks were drawn: two percent are five standard deviations of so many.
		all=0 sections=0
		for _ in 1 2 3 4 5 6 7 8 9; do
			ran 20 duration=1 nwriters_stress=4 nested_locks=$n && [ "$(failing)" = 0 ] || { cat $debug/results; return 1; }
			all=$((all + $(did nested))) sections=$((sections + $(total)))
			[ $((n * sections)) -lt 16000 ] || break
		done
		echo "$n $all $sections" | awk '{ exit !($3 > 1000 && $2 / $3 > 0.48 * $1 && $2 / $3 < 0.52 * $1) }' ||
			{ cat $debug/results $debug/writers; return 1; }
	done
}

# A lock that looks for deadlocks finds none in the nested ones: writers take them in one order. (It looks every 65,536
# pauses, which takes a second and more here. So some CPUs are left without a writer.)
no_deadlock() {
	all=0
	for _ in 1 2 3 4 5; do
		ran 20 duration=1 nwriters_stress=2 nested_locks=8 torture_type=raw_res_spin_lock || { cat $debug/results; return 1; }
		[ "$(column deadlock_failures) $(column deadlock_failures $debug/writers | sort -u)" = "0 0" ] || { cat $debug/results; return 1; }
		all=$((all + $(did nested)))
		[ $all -le 1000 ] || return 0
	done
	cat $debug/results
	return 1
}

# Several locks at a time, each with what it protects.
several() {
	ran 20 duration=1 nwriters_stress=4 nlocks=8 || return 1
	[ "$(did locks) $(failing)" = "8 0" ] || { cat $debug/results; return 1; }
	case $(fact spoiled_by $debug/summary) in PERTURBED | *,PERTURBED) ;; *) cat $debug/summary; return 1 ;; esac
	for check in owner counter; do
		echo "torture_type=busted nwriters_stress=4 runs=2 duration=1 nlocks=2 checks=$check" >$debug/control || return 1
		await failed 20 || return 1
		[ "$(column ${check}_failures | grep -cvx 0)" -eq 2 ] || { cat $debug/results; return 1; }
	done
}

tries() {
	ran 20 duration=1 nwriters_stress=1 try_lock=1 || return 1
	[ "$(did tries)" = "$(total)" ] || { cat $debug/results $debug/writers; return 1; }
	# Of each lock some tries fail, and leave nothing. There are CPUs beside the writers': one that cannot be preempted may stop.
	tried="$(locks lock) $(locks irq)"
	mark
	# shellcheck disable=SC2086 # words
	ran 60 torture_type="$(echo $tried | tr ' ' ,)" duration=1 nwriters_stress=2 try_lock=1 && [ "$(failing)" = 0 ] ||
		{ cat $debug/results; return 1; }
	! since | grep 'scheduling while atomic' || return 1
	for lock in $tried; do
		grep "^lock,\|^$lock," $debug/writers >/tmp/rows
		column total /tmp/rows | awk -v took="$(sed -n "s/^$lock,.*tries=\([0-9]*\).*/\1/p" $debug/results)" '
			{ all += $1 } END { exit !(took > 0 && took < all) }' || { echo "$lock"; cat $debug/results $debug/writers; return 1; }
	done
}

# On each writer's CPU a timer's interrupt takes the lock as well. No other lock is asked for that.
interrupts() {
	for lock in $(locks irq); do
		all=0
		for _ in 1 2 3 4 5; do
			ran 20 torture_type="$lock" duration=1 nwriters_stress=4 irq_interval=200 && [ "$(failing)" = 0 ] ||
				{ cat $debug/results; return 1; }
			all=$((all + $(did irqs)))
			[ $all -le 200 ] || break
		done
		[ $all -gt 200 ] || { cat $debug/results; return 1; }
	done
	# Each 20 ms, of two seconds. Of some runs one is to show it: a host may take the CPU.
	for _ in 1 2 3 4 5; do
		ran 20 torture_type=twa_irq duration=2 nwriters_stress=1 irq_interval=20000 || return 1
		all=$(did irqs)
		[ "$all" -lt 67 ] || [ "$all" -gt 150 ] || break
	done
	[ "$all" -ge 67 ] && [ "$all" -le 150 ] || { echo "$all of 100"; return 1; }
	# In a pause they take none: of two seconds one is a pause. Of some runs one is to show it.
	for _ in 1 2 3 4 5; do
		ran 20 torture_type=twa_irq duration=2 nwriters_stress=1 irq_interval=1000 || return 1
		all=$(did irqs)
		ran 20 torture_type=twa_irq duration=2 nwriters_stress=1 irq_interval=1000 stutter=1 || return 1
		some=$(did irqs)
		[ $((some * 10)) -ge $((all * 7)) ] || [ "$some" -le 100 ] || break
	done
	[ "$some" -gt 100 ] && [ $((some * 10)) -lt $((all * 7)) ] || { echo "$all and $some"; return 1; }
	mark
	for types in twa,twa_irq twa_irq,twa; do
		(echo "torture_type=$types irq_interval=100" >$debug/control) 2>&1 | grep -q 'Invalid argument' || return 1
	done
	[ "$(since | grep -c 'handover: irq_interval=100: allowed: 0 with twa; more with locks whose names end in _irq$')" -eq 2 ] || { since; return 1; }
}

# Every result has the words: odd ones of all, as they stand.
worded() {
	words="long_hold=3 stutter=2 shuffle_interval=4 onoff_interval=3 onoff_holdoff=1 bind_writers=0-2 nested_locks=5 rt_boost=2 \
rt_boost_factor=77 writer_fifo=1 acq_writer_lim=99999 nlocks=3 try_lock=1 irq_interval=7777 latency=1"
	mark
	ran 30 duration=1 "$words" torture_type=twa_irq || return 1
	for file in status summary; do
		grep -q "^workload: experiment=torture .* nice=19 $words\$" $debug/$file || { cat $debug/$file; return 1; }
	done
	[ "$(since | grep -c "handover: workload: .* $words\$")" -eq 2 ] || { since; return 1; }
	[ "$(column perturbations)" = "$(echo "$words" | tr ' ' +)" ] || { cat $debug/results; return 1; }
	grep -qx "perturbed: $words: the rates are no figures" $debug/summary || { cat $debug/summary; return 1; }
	case $(fact spoiled_by $debug/summary) in PERTURBED | *,PERTURBED) ;; *) cat $debug/summary; return 1 ;; esac
	# By insmod as by control.
	# shellcheck disable=SC2086 # words
	rmmod handover && insmod /handover.ko stat_interval=0 runs=1 duration=1 nwriters_stress=1 torture_type=twa_irq $words || return 1
	await done 30 || return 1
	grep -q "^workload: experiment=torture .* nice=19 $words\$" $debug/status || { cat $debug/status; return 1; }
	# Pairs have none of it.
	echo "experiment=uncontended torture_type=twa_irq runs=1" >$debug/control && await done 60 || return 1
	! grep -q 'PERTURBED\|tsc_khz' $debug/summary $debug/status || { cat $debug/summary; return 1; }
	rmmod handover && insmod /handover.ko experiment=none stat_interval=0 || return 1
	# The next experiment has none of it.
	ran 20 duration=1 || return 1
	[ "$(column perturbations)" = none ] && ! grep -q PERTURBED $debug/summary || { cat $debug/summary; return 1; }
}

# All of it at once, on a lock.
everything="stutter=1 shuffle_interval=1 onoff_interval=1 long_hold=5 nested_locks=8 rt_boost=2 nlocks=3 try_lock=1"
endures() {
	# (Of a few sections none may be a boost's.)
	for _ in 1 2 3; do
		ran 60 duration=3 nwriters_stress=8 "$everything" acq_writer_lim=$((hz * 9)) torture_type="$1" || { cat $debug/results; return 1; }
		for name in pauses shuffles offlines nested tries; do
			[ "$(did $name)" -gt 0 ] || { echo "no $name"; cat $debug/results; return 1; }
		done
		[ "$(failing) $(did locks)" = "0 3" ] || { cat $debug/results; return 1; }
		[ "$(did boosts)" -eq 0 ] || return 0
	done
	echo "no boosts"
	cat $debug/results
	return 1
}
busted() {
	echo "torture_type=busted nwriters_stress=8 runs=1 duration=3 $everything" >$debug/control || return 1
	await failed 60
}

insmod /handover.ko experiment=none stat_interval=0 || exit 1
ran 20 duration=1 || exit 1
hz=$(fact HZ)
# On our own kernel, for which there is more time, all locks.
kind=usual
! [ -d /sys/kernel/debug/kunit ] || kind=lock
verdict "asked for nothing, nothing is done" nothing
verdict "stutter: all writers pause" stutters
verdict "stutter: a pause is no stall" pauses_are_no_stall
verdict "shuffle_interval: a CPU is left to none" shuffles
verdict "whoever perturbs hears the run's end" hears_the_end
verdict "bind_writers: they stay there" binds
verdict "bind_writers: a CPU that is yet to come" binds_beforehand
verdict "bind_writers: while CPUs go and come" stays_bound
verdict "bind_writers: where no CPU is" nowhere
verdict "bind_writers: where no CPU is any more" refused twa bind_writers=3
verdict "bind_writers: with a timer there, and jobs" refused twa_irq "stutter=1 shuffle_interval=1 bind_writers=3 irq_interval=1000"
verdict "onoff_interval: CPUs go, and all are back" goes_off_line
verdict "onoff_interval: several CPUs go" several_go
verdict "onoff_interval: back after stop and rmmod" comes_back
verdict "onoff_interval: one is brought back by others" others_bring_back
verdict "onoff_interval: one comes back at the second try" goes_and_fails tries_again
verdict "onoff_interval: one stays away" goes_and_fails stays_away
verdict "onoff_holdoff: none goes before" holds_off
verdict "rt_boost: now and then" boosts
verdict "writer_fifo: all the time" is_fifo
verdict "long_hold and acq_writer_lim" holds_long
verdict "long_hold: as often as it is to be" of_sections
verdict "acq_writer_lim: no wait for a CPU" for_a_cpu
verdict "nested_locks: half of them" nests
verdict "nested_locks: no limit for a wait" nested_unlimited
verdict "nested_locks: raw_res_spin_lock finds no deadlock" no_deadlock
verdict "nlocks: each has its own" several
verdict "try_lock: first" tries
verdict "irq_interval: interrupts take the lock" interrupts
verdict "every result says what was done" worded
for lock in $(locks $kind); do verdict "everything on $lock" endures "$lock"; done
verdict "everything on busted: found" busted
verdict "unloaded" rmmod handover
finish
