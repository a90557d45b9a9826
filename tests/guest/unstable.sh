# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# A machine whose kernel does not trust its time stamp counter: no times are taken there. Its page tables are isolated.
# boot: --append "tsc=unstable pti=on"
only=${1:-}
# shellcheck source=tests/guest/verdict.sh
. /verdict

untimed() {
	mark
	(echo "torture_type=twa latency=1" >$debug/control) 2>&1 | grep -q 'Invalid argument' &&
		since | grep -q 'handover: latency=1: allowed: 0; the kernel does not trust its time stamp counter$' && return
	since
	return 1
}
# The rest needs no stamp.
tortured() { echo "torture_type=twa nwriters_stress=2 duration=1 runs=1 latency=0" >$debug/control && await done 20; }

# By the processor's flags, as the kernel shows them.
isolated() {
	grep -qw pti /proc/cpuinfo || { echo "no pti: $(cat /proc/cmdline)"; return 1; }
	case ,$(fact mitigations), in *,pti,*) ;; *) cat $debug/status; return 1 ;; esac
}

insmod /handover.ko experiment=none || exit 1
verdict "latency: none without a clock" untimed
verdict "torture without a clock" tortured
verdict "the facts: isolated page tables" isolated
finish
