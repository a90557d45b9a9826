# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# Sourced by the guest's jobs: how they tell what they found.
failed=0
verdicts=0
debug=/sys/kernel/debug/handover

# verdict NAME COMMAND... : ok if COMMAND succeeds; what it printed says why not. Only those whose name has
# $only in it, a pattern, where a job was asked for some.
verdict() {
	name=$1
	# shellcheck disable=SC2254 # a pattern
	case $name in *${only:-}*) ;; *) return ;; esac
	verdicts=$((verdicts + 1))
	shift
	if why=$("$@" 2>&1); then
		echo "ok $name"
	else
		echo "not ok $name: $(echo $why)"
		failed=1
	fi
}

# finish : the job's end. Who counts the lines then knows that it came to this.
finish() {
	echo "@@ verdicts $verdicts"
	exit $failed
}

is_rt() { case $(uname -v) in *PREEMPT_RT*) ;; *) return 1 ;; esac; }

# locks [KIND] : the module's locks, a line each; of a kind (usual, more, control, irq), or with `lock` those that `all` means.
# Under PREEMPT_RT there is no spin_lock.
locks() { awk -v kind="${1:-}" -v none="$(! is_rt || echo spin_lock)" '$1 == none { next } kind == "" || $2 == kind || (kind == "lock" && $2 != "control" && $2 != "irq") { print $1 }' /locks; }

# tell_file NAME FILE : it comes out (scripts/guest/boot --out); and packed, as NAME.gz.b64, for a
# serial line is slow.
tell_file() { echo "@@ file $1"; cat "$2"; echo "@@ end"; }
tell_packed() { echo "@@ file $1.gz.b64"; gzip -c "$2" | base64; echo "@@ end"; }

# await STATE SECONDS : until status says so. The rows hold then, of whatever experiment it was.
await() {
	i=0
	until grep -q "^state: $1" $debug/status; do
		i=$((i + 1))
		[ $i -le "$2" ] || { echo "not $1 after $2 s: $(head -n 1 $debug/status)"; return 1; }
		sleep 1
	done
	rows_hold
}

# errname NAME NUMBER : how the module says this error. Not every kernel can name its errors.
errname() { if grep -q ' errname$' /proc/kallsyms; then echo "$1"; else echo "Error($2)"; fi; }

# begun WORD... : an experiment goes on and is in its measured time, of one run of twa where the words name no lock.
begun() {
	echo "torture_type=twa nwriters_stress=2 runs=1 $*" >$debug/control || return 1
	until grep -q '^now: ' $debug/status; do
		grep -q '^state: running' $debug/status || { cat $debug/status; return 1; }
		usleep 20000
	done
}
# acquires : waits until writers have acquired something in the run's measured time.
acquires() {
	until grep -q '^now: .* [1-9][0-9]* acquisitions' $debug/status; do
		grep -q '^state: running' $debug/status || { cat $debug/status; return 1; }
		usleep 100000
	done
}
# rows_come N : waits until the results have so many rows.
rows_come() {
	until [ "$(tail -n +2 $debug/results | wc -l)" -ge "$1" ]; do
		grep -q '^state: running' $debug/status || { cat $debug/status; return 1; }
		usleep 100000
	done
}
# seen COMMAND... : what it prints while the run's measured time goes on, over and over, to /tmp/seen.
seen() {
	: >/tmp/seen
	while grep -q '^now: ' $debug/status; do
		"$@" >>/tmp/seen
		usleep 40000
	done
	await '[df]' 20
}
# acquired : with the time of the look.
acquired() {
	read -r now _ </proc/uptime
	sed -n "s/^now: .*, \([0-9]*\) acquisitions$/$now \1/p" $debug/status
}
# still : the longest time, in hundredths of a second, in which all looks saw the same. Nothing of fewer than two looks.
still() {
	awk 'NR == 1 || $2 != last { since = $1 } { last = $2; if ($1 - since > most) most = $1 - since } END { if (NR > 1) printf "%d\n", most * 100 }' /tmp/seen
}

# hog_cpu_3 : CPU 3 is that of loops which outweigh writers by a thousand times, until leave_cpu_3. This shell stays away: what it
# starts would wait for the loops too, which it is to end.
hog_cpu_3() {
	hogs=''
	# (A verdict has a shell of its own.)
	read -r me _ </proc/self/stat
	taskset -p 7 "$me" >/dev/null || return 1
	for _ in 1 2 3 4 5 6; do
		while :; do :; done >/dev/null 2>&1 &
		hogs="$hogs $!"
		taskset -p 8 $! >/dev/null && renice -20 $! || { leave_cpu_3; return 1; }
	done
}
leave_cpu_3() {
	# shellcheck disable=SC2086 # words
	kill $hogs
	taskset -p f "$me" >/dev/null
}

# rows_hold : each row of the results, and its writers' rows, can be of one run. A run ends two seconds late at most.
rows_hold() {
	# shellcheck disable=SC2016 # awk's
	awk -F, -v is_done="$(grep -c '^state: done' $debug/status)" '
		function wrong(what) { print "row " key ": " what; bad = 1; exit 1 }
		{ key = $1 "," $2 "," $3 }
		BEGIN { kinds = split("owner order wait deadlock", kind, " ") }
		FNR == 1 {
			file++
			for (i = 1; i <= NF; i++) at[file, $i] = i
			for (i = 1; i <= kinds; i++) if (!at[file, kind[i] "_failures"]) wrong("no column of " kind[i])
			next
		}
		file == 1 {
			n[key]++; sum[key] += $at[1, "acquisitions"]
			if ($at[1, "writer"] != n[key]) wrong("writer " $at[1, "writer"] " is number " n[key])
			if ($at[1, "total"] < $at[1, "acquisitions"]) wrong("more than all")
			# The warm-up, which does not count, is over when each has acquired.
			cold[key] += $at[1, "total"] == $at[1, "acquisitions"]
			for (i = 1; i <= kinds; i++) theirs[key, i] += $at[1, kind[i] "_failures"]
			next
		}
		{
			all = $at[2, "acquisitions"]; jain = $at[2, "jain"]; rows++
			if (n[key] != $2) wrong(n[key] + 0 " writers")
			if (all != sum[key]) wrong(all " are not its writers " sum[key])
			if ($2 * $at[2, "min"] > all || all > $2 * $at[2, "max"]) wrong("least or most")
			if (jain > 1 || all && jain < 1 / $2 - 0.000001) wrong("jain")
			if ($at[2, "failures"] != $at[2, "owner_failures"] + $at[2, "counter_failures"] + $at[2, "order_failures"] +
				$at[2, "progress_failures"] + $at[2, "wait_failures"] + $at[2, "deadlock_failures"] + $at[2, "hung"]) wrong("failures")
			for (i = 1; i <= kinds; i++) {
				if ($at[2, kind[i] "_failures"] != theirs[key, i]) wrong("its writers have " theirs[key, i] " failures of " kind[i])
			}
			if (cold[key] && !$at[2, "failures"]) wrong("the warm-up counts")
			if ($at[2, "duration"] && !$at[2, "failures"] && $at[2, "seconds"] > $at[2, "duration"] + 2) wrong($at[2, "seconds"] " s of " $at[2, "duration"])
			if (is_done && $at[2, "seconds"] < $at[2, "duration"]) wrong($at[2, "seconds"] " s of " $at[2, "duration"])
			told += $2
		}
		END {
			if (bad) exit 1
			for (key in n) { all_writers += n[key] }
			if (all_writers != told) { print all_writers + 0 " writers of " told + 0; exit 1 }
		}' $debug/writers $debug/results
}

# experiment SECONDS WORD... : load, run to the end, keep results, unload.
experiment() {
	limit=$1
	shift
	insmod /handover.ko stat_interval=0 "$@" || return 1
	await '[dhf]' "$limit" || return 1
	cp $debug/results $debug/writers /tmp/
	rmmod handover
}

# best BEFORE STEPS OUTSIDE [WRITERS] : the acquisitions of another run, if they are more.
best() {
	experiment 60 torture_type=twa nwriters_stress=${4:-1} duration=1 runs=1 cs_steps=$2 ncs_steps=$3 >&2 || return 1
	awk -F, -v best=$1 'NR == 2 { print ($5 > best ? $5 : best) }' /tmp/results
}

rows() { tail -n +2 /tmp/results | wc -l; }
failing() { awk -F, 'NR > 1 && $8 != 0' /tmp/results | wc -l; }
idle() { awk -F, 'NR > 1 && $6 == 0' /tmp/results | wc -l; }

# mark and since: what the kernel logged since the mark. The log's buffer forgets its oldest lines, so that no line
# has a number. All that is left of it came after a mark that it has forgotten.
mark() { marked=$(dmesg | tail -n 1); }
since() {
	# shellcheck disable=SC2016 # awk's
	dmesg | marked=$marked awk '{ line[NR] = $0 } $0 == ENVIRON["marked"] { last = NR } END { for (i = last + 1; i <= NR; i++) print line[i] }'
}

# fact NAME [FILE] : what the facts line says of it.
fact() { sed -n "s/^\(facts: \)*\(.* \)*$1=\([^ ]*\).*/\3/p" "${2:-$debug/status}" | head -n 1; }

# column NAME [FILE] : a column of the results, a row a line.
column() {
	awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
		{ print at ? $at : "no column " name }' "${2:-$debug/results}"
}

# did WORD : how often that was done to writers, a row a line; 0 if never.
did() { column perturbed | tr + '\n' | sed -n "s/^$1=//p" | grep . || echo 0; }

# What nobody refers to, and how many there are, for kmemleak. An object must be some seconds old and look alike in two
# scans; four, since what lies on a stack changes.
leak=/sys/kernel/debug/kmemleak
unreferenced() {
	sleep 6
	for _ in 1 2 3 4; do
		echo scan >$leak || return 1
		sleep 1
	done
	found=$(cat $leak) || return 1
	[ -z "$found" ] || echo "$(echo "$found" | grep -c '^unreferenced') objects: $found"
}

# is NAME VALUE : the fact is that value, which was found out otherwise.
is() {
	said=$(fact "$1")
	[ "$said" = "$2" ] || { echo "$1=$said, where it is '$2'"; return 1; }
}

# writers : the files in /proc that tell of the threads that are. where : their CPUs, a line each.
writers() { grep -ls '^Name:.ho_writer/' /proc/[0-9]*/status; }
where() { for status in $(writers); do sed -n 's/^Cpus_allowed_list:.//p' "$status"; done; }

# count_list LIST : how many numbers 1,3-5 has.
count_list() {
	tr ',' '\n' <"$1" | awk -F- 'NF { n += $NF - $1 + 1 } END { print n + 0 }'
}

# tick : jiffies, and the clock in nanoseconds.
tick() { awk '/^now at/ { now = $3 } /^jiffies:/ { jiffies = $2 } END { print jiffies, now }' /proc/timer_list; }

# facts : of the experiment in status, against what the kernel says of itself in /proc and /sys.
facts() {
	cpu=/sys/devices/system/cpu
	is kernel "$(uname -r)" && is cpus "$(grep -c '^processor' /proc/cpuinfo)" || return 1
	is isolated_cpus "$(count_list $cpu/isolated)" || return 1
	is smt "$(case $(cat $cpu/smt/active 2>/dev/null) in 1) echo on ;; *) echo off ;; esac)" || return 1
	nodes=$(ls -d /sys/devices/system/node/node[0-9]* 2>/dev/null | wc -l)
	is numa_nodes $((nodes > 0 ? nodes : 1)) || return 1
	is governor "$(sort -u $cpu/cpufreq/policy*/scaling_governor 2>/dev/null | grep . || echo none)" || return 1
	spoiled && is preempt "$(preempt_model)" && is mitigations "$(mitigations)" || return 1
	grep -q " cpu=\"$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)\" " $debug/status || { cat $debug/status; return 1; }
	# HZ by the clock, to 3 %. (A host that stands still for a moment shifts what is seen: one of five looks must
	# show it. Another of the rates that a kernel can have is at least 20 % off in each.)
	for _ in 1 2 3 4 5; do
		from=$(tick)
		sleep 2
		seen="$from $(tick)"
		echo "$seen" | awk -v hz="$(fact HZ)" '{ off = ($3 - $1) * 1e9 / ($4 - $2) / hz - 1; n++ } END { exit !(n == 1 && off * off <= 0.0009) }' &&
			return
	done
	echo "HZ=$(fact HZ), where ticks and nanoseconds are $seen"
	return 1
}

# spoiled : what slows locks down, as the kernel shows it otherwise, in the order of the facts.
spoiled() {
	has() { grep -q " $1\$" /proc/kallsyms; }
	is spoiled_by "$({
		[ ! -e /proc/lockdep ] || echo LOCKDEP
		! has do_raw_spin_lock || echo DEBUG_SPINLOCK
		! has debug_smp_processor_id || echo DEBUG_PREEMPT
		[ ! -e /proc/lock_stat ] || echo LOCK_STAT
		! has kasan_report || echo KASAN
		! has kcsan_disable_current || echo KCSAN
		! is_rt || echo PREEMPT_RT
	} | paste -sd, | grep . || echo none)"
}

preempt_model() {
	if is_rt; then
		echo rt
	elif [ -e /sys/kernel/debug/sched/preempt ]; then
		sed 's/.*(\(.*\)).*/\1/' /sys/kernel/debug/sched/preempt
	else
		case $(uname -v) in
		*PREEMPT_LAZY*) echo lazy ;;
		*PREEMPT*) echo full ;;
		*) echo none ;;
		esac
	fi
}

# Those that calls and returns pay for, as the kernel lists them by vulnerability.
mitigations() {
	say=$(cat /sys/devices/system/cpu/vulnerabilities/* 2>/dev/null)
	on=''
	case $say in *Retpolines*) on=,retpoline ;; esac
	case $say in *"return thunk"* | *"Safe RET"*) on=$on,rethunk ;; esac
	case $say in *"Mitigation: IBRS"*) on=$on,ibrs ;; esac
	case $say in *PTI*) on=$on,pti ;; esac
	# Switched off on the command line, or not compiled in.
	off=off
	! grep -q ' cpu_mitigations_off$' /proc/kallsyms || grep -q 'mitigations=off' /proc/cmdline || off=none
	on=${on#,}
	echo "${on:-$off}"
}
