# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# Times of waits and of hand-overs: each row is computed once more, and what is known of a run is seen in its times.
only=${1:-}
# shellcheck source=tests/guest/verdict.sh
. /verdict

# timed SECONDS WORD... : an experiment with times, to its end. Each row of them is held against its histogram, its
# writers against their rows, and those of all against their sum.
timed() {
	limit=$1
	shift
	echo "torture_type=twa nwriters_stress=2 runs=1 latency=1 $*" >$debug/control && await done "$limit" && times_hold
}
times_hold() {
	# shellcheck disable=SC2016 # awk's
	awk -F, '
		BEGIN { two[0] = 1; for (i = 1; i < 64; i++) two[i] = 2 * two[i - 1] }
		function wrong(what) { print "row " FNR ": " $0 ": " what; bad = 1; exit 1 }
		function up(number) { return number == int(number) ? number : int(number) + 1 }
		function ns(ticks) { return up(ticks * 1000000 / $11) }
		# What so many of a hundred took at most: the end of their bucket, or the longest time.
		function within(percent, rank, sum, bits) {
			rank = up($6 * percent / 100)
			for (bits = 0; bits < 64; bits++) {
				sum += count[bits]
				if (sum >= rank) return ns(two[bits] - 1) < $10 ? ns(two[bits] - 1) : $10
			}
		}
		FNR == 1 { file++; next }
		file == 1 { acquired[$1, $2, $3, $4] = $5; acquired[$1, $2, $3, "all"] += $5; runs[$1, $2, $3]; next }
		{
			rows++
			if (NF != 13) wrong(NF " fields")
			delete count
			total = 0
			last = -1
			words = $13 == "none" ? 0 : split($13, word, "+")
			for (i = 1; i <= words; i++) {
				split(word[i], pair, "=")
				if (pair[1] <= last || pair[1] > 63 || pair[2] < 1) wrong(word[i])
				last = pair[1]
				count[pair[1]] = pair[2]
				total += pair[2]
			}
			if (total != $6) wrong(total " times")
			if (!(($1, $2, $3, $4) in acquired)) wrong("no such writer")
			if ($5 == "wait" && $6 != acquired[$1, $2, $3, $4]) wrong("acquired " acquired[$1, $2, $3, $4])
			if ($5 == "wait") waits = $6
			if ($5 == "handover" && $6 > waits) wrong("more than waits")
			if ($5 != "wait" && $5 != "handover") wrong("what is it")
			if (total == 0) { if ($7 $8 $9 $10 != "----") wrong("times of nothing") }
			else {
				if ($8 != within(50)) wrong("p50 is " within(50))
				if ($9 != within(99)) wrong("p99 is " within(99))
				if ($10 < ns(last ? two[last - 1] : 0) || $10 > ns(two[last] - 1)) wrong("the longest is of another bucket")
				# The mean is within what the buckets say.
				for (bits in count) { least += count[bits] * (bits + 0 > 0 ? two[bits - 1] : 0); most += count[bits] * (two[bits] - 1) }
				if ($7 + 1 < ns(least / total) || $7 > ns(most / total) + 1) wrong("the mean is none of these")
				least = most = 0
			}
			if ($4 == "all") {
				if ($6 != sum[$1, $2, $3, $5] + 0) wrong("not all writers")
				if ($6 && $10 != longest[$1, $2, $3, $5]) wrong("not the longest")
				for (bits = 0; bits < 64; bits++) if (count[bits] + 0 != all[$1, $2, $3, $5, bits] + 0) wrong("not all of bucket " bits)
				seen[$1, $2, $3]++
			} else {
				sum[$1, $2, $3, $5] += $6
				if ($6 && $10 > longest[$1, $2, $3, $5]) longest[$1, $2, $3, $5] = $10
				for (bits in count) all[$1, $2, $3, $5, bits] += count[bits]
			}
		}
		END {
			if (bad) exit 1
			for (run in runs) if (seen[run] != 2) { print "a run without times"; exit 1 }
			if (!rows) { print "no times"; exit 1 }
		}' $debug/writers $debug/latency
}
# told WHAT COLUMN : of all writers of the last run.
told() { awk -F, -v what="$1" -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
	$4 == "all" && $5 == what { said = $at } END { print said }' $debug/latency; }
# so EXPRESSION : it holds, of w_... and h_... (waits' and hand-overs' count, mean, p50, p99, longest), and of n and ns,
# the acquisitions and the time of the run.
so() {
	awk -v w_count="$(told wait count)" -v w_mean="$(told wait mean_ns)" -v w_p50="$(told wait p50_ns)" \
		-v w_longest="$(told wait longest_ns)" -v h_count="$(told handover count)" -v h_p50="$(told handover p50_ns)" \
		-v n="$(column acquisitions)" -v ns="$(column seconds | tr -d .)000" "BEGIN { exit !($1) }"
}

nothing() {
	timed 20 duration=1 || return 1
	echo "torture_type=twa nwriters_stress=2 runs=1 duration=1" >$debug/control && await done 20 || return 1
	[ "$(wc -l <$debug/latency) $(column perturbations)" = "1 none" ] && ! grep -q 'handover' $debug/summary &&
		[ -z "$(fact tsc_khz)" ] || { cat $debug/latency $debug/summary; return 1; }
}

# Of each lock, with more runs than one, also of more writers than CPUs.
each() {
	timed 90 "torture_type=$(locks lock | paste -sd,)" duration=1 runs=2 nwriters_stress=1,5 || return 1
	[ "$(tail -n +2 $debug/latency | wc -l)" -eq $(($(locks lock | wc -l) * 2 * (2 + 6) * 2)) ]
}
fails() {
	echo "torture_type=busted nwriters_stress=4 runs=1 duration=1 latency=1" >$debug/control && await failed 20 && times_hold
}

# A writer alone waits for nobody: it is handed nothing, and its waits are a part of its time.
alone() {
	timed 20 duration=1 nwriters_stress=1 || return 1
	so "h_count == 0 && w_count == n && w_count > 0 && w_mean * n < ns" || { cat $debug/latency; return 1; }
}

# quick : of how many hand-overs a hundred took less than a sixteenth of the median wait.
quick() {
	awk -F, '$4 != "all" { next }
		{ words = split($13, word, "+"); sum = 0 }
		$5 == "wait" {
			for (i = 1; i <= words && sum * 2 < $6; i++) { split(word[i], pair, "="); sum += pair[2]; middle = pair[1] }
			next
		}
		{
			for (i = 1; i <= words; i++) { split(word[i], pair, "="); if (pair[1] < middle - 4) sum += pair[2] }
			print int(100 * sum / ($6 + 1))
		}' $debug/latency
}
# Of two with long sections and nothing between them one waits at any time, for nearly the other's section. A hand-over
# is a small part of that, where the host lets the next one run. (One of five runs must show it.)
in_turn() {
	for _ in 1 2 3 4 5; do
		timed 20 duration=2 cs_steps=500000 ncs_steps=0 || return 1
		so "w_mean * n > 0.7 * ns && w_mean * n < 2.05 * ns && h_count > 0.8 * n" && [ "$(quick)" -ge 5 ] && return
	done
	cat $debug/latency
	return 1
}

# of_longs : hand-overs of a hundred waits that took about as long as a section, which is what most of those took.
of_longs() {
	awk -F, '$4 != "all" { next }
		$5 == "wait" {
			words = split($13, word, "+")
			for (i = 1; i <= words; i++) { split(word[i], pair, "="); count[pair[1]] = pair[2]; if (pair[1] > 16 && pair[2] > most) { most = pair[2]; at = pair[1] } }
			for (bits in count) if (bits + 0 > at - 4) long += count[bits]
		}
		$5 == "handover" { print int(100 * $6 / (long + 1)) }' $debug/latency
}
# Of two locks each has its own stamp: who waited for either is handed that one.
in_turn_of_two() {
	for _ in 1 2 3 4 5; do
		timed 20 duration=2 cs_steps=500000 ncs_steps=0 nlocks=2 || return 1
		so "h_count > 20" && [ "$(of_longs)" -ge 75 ] && return
	done
	of_longs
	cat $debug/latency
	return 1
}

# Owners in interrupts hand over, too: who waits for one is handed the lock by it.
by_interrupts() {
	for _ in 1 2 3 4 5; do
		timed 20 torture_type=twa_irq duration=2 cs_steps=500000 ncs_steps=0 irq_interval=1000 || return 1
		so "$(did irqs) * 4 > n && h_count > 0.8 * n" && return
	done
	cat $debug/latency $debug/results
	return 1
}

# Writers of one CPU never wait: who holds the lock there is not preempted. No writer is handed what it did not wait for.
one_cpu() {
	timed 20 duration=5 nwriters_stress=4 bind_writers=1 cs_steps=0 ncs_steps=0 || return 1
	so "h_count == 0 && w_count == n && n > 0" || { cat $debug/latency; return 1; }
}

# Writers that seldom meet are seldom handed the lock.
seldom() {
	for _ in 1 2 3 4 5; do
		timed 20 duration=1 cs_steps=0 ncs_steps=100000 || return 1
		so "h_count * 5 < n" && return
	done
	cat $debug/latency
	return 1
}

# Who waits for a long section waits as long, and its hand-over does not.
long() {
	for _ in 1 2 3 4 5; do
		timed 20 duration=2 cs_steps=0 ncs_steps=0 long_hold=20 || return 1
		column perturbed | grep -q 'long_holds=' || continue
		so "w_longest > 15000000 && w_longest < ns && h_count > 0 && h_p50 < 15000000" && return
	done
	cat $debug/latency $debug/results
	return 1
}

# The table has what the rows of its one run have.
tabled() {
	timed 30 duration=1 torture_type=ticket,twa nwriters_stress=2,3 || return 1
	due=$(awk -F, '$4 == "all" { print $1, $2, $5, $6, $7, $8, $9, $10 }' $debug/latency | sort)
	seen=$(awk '$3 == "wait" || $3 == "handover" { $1 = $1; print }' $debug/summary | sort)
	[ "$seen" = "$due" ] && [ "$(echo "$seen" | wc -l)" -eq 8 ] || { cat $debug/summary; echo "$due"; return 1; }
	[ "$(dmesg | tail -n 40 | grep -c 'handover: twa  *[23]  *\(wait\|handover\) ')" -eq 4 ] || { dmesg | tail -n 40; return 1; }
}

# While a run goes on, the table has the times of the one that is over.
so_far() {
	echo "torture_type=twa nwriters_stress=2 duration=4 runs=2 latency=1" >$debug/control || return 1
	until grep -q '^now: .*run 2 of 2' $debug/status; do
		grep -q '^state: running' $debug/status || { cat $debug/status; return 1; }
		usleep 50000
	done
	cp $debug/summary /tmp/summary
	grep -q '^now: .*run 2 of 2' $debug/status || { cat $debug/status; return 1; }
	rows=$(awk -F, '$4 == "all" { print $1, $2, $5, $6, $7, $8, $9, $10 }' $debug/latency | sort)
	await done 30 || return 1
	[ "$(awk '$3 == "wait" || $3 == "handover" { $1 = $1; print }' /tmp/summary | sort)" = "$rows" ] &&
		[ "$(echo "$rows" | wc -l)" -eq 2 ] || { cat /tmp/summary; echo "$rows"; return 1; }
}

# The clock is the kernel's, as its log says. Whoever takes times has no figures.
clock() {
	timed 20 duration=1 || return 1
	for file in status summary; do
		case $(fact spoiled_by $debug/$file) in PERTURBED | *,PERTURBED) ;; *) cat $debug/$file; return 1 ;; esac
	done
	mhz=$(dmesg | sed -n 's/.*tsc: .* \([0-9.]*\) MHz.*/\1/p' | tail -n 1)
	awk -v khz="$(fact tsc_khz)" -v mhz="$mhz" -v stamp="$(fact stamp_ns)" 'BEGIN { off = khz / 1000 / mhz - 1
		exit !(mhz > 0 && off * off < 0.0001 && stamp > 0 && stamp < 10000) }' || { dmesg | grep tsc:; cat $debug/status; return 1; }
	[ "$(told wait tsc_khz) $(told wait stamp_ns)" = "$(fact tsc_khz) $(fact stamp_ns)" ]
}

insmod /handover.ko experiment=none stat_interval=0 || exit 1
verdict "latency: of each lock, writer and run" each
verdict "latency: of a lock that fails" fails
verdict "latency: a writer alone" alone
verdict "latency: two in turn" in_turn
verdict "latency: two of two locks" in_turn_of_two
verdict "latency: owners in interrupts" by_interrupts
verdict "latency: four of one CPU" one_cpu
verdict "latency: two that seldom meet" seldom
verdict "latency: a long hold" long
verdict "latency: the table" tabled
verdict "latency: the table in mid-run" so_far
verdict "latency: the clock" clock
verdict "latency: none where none is asked for" nothing
rmmod handover || exit 1
finish
