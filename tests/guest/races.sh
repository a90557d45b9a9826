# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# Where KCSAN looks on: the locks' suites, torture and perturbations have no data race, and busted has some. The kernel's own
# races are left out: reports of which neither access is the module's. The console does not show reports; the log does.
# boot: --append "loglevel=3 log_buf_len=32M kcsan.skip_watch=120 kunit.autorun=1 kunit.filter_glob=handover_*"
only=${1:-}
# shellcheck source=tests/guest/verdict.sh
. /verdict

# The reports in the log since the mark of which an access is the module's, or one of a C helper that it called.
reports() {
	since | sed 's/^\[[^]]*\] //' | awk '
		/^BUG: KCSAN:/ { report = ""; ours = 0; in_it = 1; reports++ }
		in_it { report = report $0 "\n" }
		/ (to|from|at) 0x[0-9a-f]+ of [0-9]+ bytes by / { top = 1; next }
		in_it && top && $1 !~ /^rust_helper_/ { top = 0; if (/\[handover\]/) ours = 1 }
		/^Reported by Kernel Concurrency Sanitizer/ { in_it = 0; if (ours) printf "%s", report }'
}

clean() {
	reports >/tmp/reports
	[ ! -s /tmp/reports ] || { head -n 40 /tmp/reports; return 1; }
}

# The suites run as the module is loaded.
suites() {
	mark
	insmod /handover.ko experiment=none stat_interval=0 || return 1
	# Of each there is a folder, and a line of its end.
	[ "$(ls -d /sys/kernel/debug/kunit/handover_* | wc -l)" -eq 19 ] || { ls /sys/kernel/debug/kunit; return 1; }
	for suite in /sys/kernel/debug/kunit/handover_*; do
		since | grep "ok [0-9]* ${suite##*/}$" >/dev/null || { echo "${suite##*/} did not run"; return 1; }
	done
	! since | grep '^.*not ok ' || return 1
	clean
}

ran() { echo "$*" >$debug/control && await done 90; }
torture() {
	mark
	ran torture_type="$1" nwriters_stress=2,4 duration=3 runs=1 && clean
}
perturbed() {
	mark
	ran torture_type=twa_irq,one_word_twa_irq,ticket_irq nwriters_stress=4 duration=4 runs=1 latency=1 nlocks=3 nested_locks=2 \
		try_lock=1 long_hold=100 stutter=1 shuffle_interval=1 onoff_interval=1 irq_interval=1000 || return 1
	for what in nested tries irqs pauses shuffles offlines; do
		did $what | grep -v '^0$' >/dev/null || { echo "no $what"; return 1; }
	done
	clean
}
uncontended() {
	mark
	for lock in $(locks lock) $(locks irq); do ran experiment=uncontended torture_type="$lock" runs=1 || return 1; done
	clean
}

# Its sections race, and the module's own words tell of each.
busted() {
	mark
	echo "torture_type=busted nwriters_stress=4 duration=3 runs=1 checks=none" >$debug/control && await '[df]' 60 || return 1
	reports >/tmp/reports
	grep -q '^BUG: KCSAN: data-race in .*\[handover\]' /tmp/reports
}

# All else that a log can say.
otherwise() {
	dmesg | grep -vE 'BUG: KCSAN|KCSAN:' | grep -E 'BUG:|WARNING:|Oops|Call Trace:|soft lockup|rcu:.*(stall|self-detected)|blocked for more than' >/tmp/other || return 0
	head -n 5 /tmp/other
	return 1
}

echo on >/sys/kernel/debug/kcsan || exit 1
verdict "races: none in the suites" suites
[ -e $debug/control ] || insmod /handover.ko experiment=none stat_interval=0 || exit 1
for lock in $(locks lock) $(locks irq); do
	verdict "races: none by $lock" torture "$lock"
done
verdict "races: none where writers are perturbed" perturbed
verdict "races: none in uncontended pairs" uncontended
verdict "races: busted has some" busted
verdict "races: nothing else on the log" otherwise
verdict "races: what spoils the figures is said" spoiled
verdict "races: unloaded" rmmod handover
cat /sys/kernel/debug/kcsan | sed -n 's/^\(used_watchpoints\|setup_watchpoints\|data_races\|no_capacity\)/# \1/p'
finish
