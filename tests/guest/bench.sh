# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# The uncontended pair of LOCKS, RUNS times, then a run of each number of writers on each lock, then the times of two
# writers, in five runs of each: a machine may be fast or slow for some runs of other locks than one's own.
# bench.sh RUNS LOCKS
# shellcheck source=tests/guest/verdict.sh
. /verdict
insmod /handover.ko experiment=uncontended torture_type="$2" runs="$1" || exit 1
await done 120 || exit 2
tell_file uncontended $debug/uncontended
tell_file status $debug/status
rmmod handover || exit 3
insmod /handover.ko torture_type="$2" nwriters_stress=1,2,4 duration=1 runs=1 || exit 4
await done 120 || exit 5
tell_file writers $debug/results
tell_file writers-status $debug/status
echo "torture_type=$2 nwriters_stress=2 duration=1 runs=5 latency=1" >$debug/control || exit 6
await done 180 || exit 7
tell_file latency $debug/latency
tell_file latency-status $debug/status
rmmod handover || exit 8
