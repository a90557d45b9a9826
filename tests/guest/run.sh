# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# One experiment in the guest: run.sh SECONDS PARAMETER...
# Prints status as it goes on, then the results, the table and the facts.
limit=$1
shift
# shellcheck disable=SC3040
set -u
insmod /handover.ko "$@" || exit 1
cd /sys/kernel/debug/handover || exit 1
waited=0
while grep -q '^state: running' status; do
	sleep 1
	waited=$((waited + 1))
	sed -n 's/^now: //p' status
	[ "$waited" -lt "$limit" ] || { echo "no end after $limit s"; exit 2; }
done
for file in results writers summary status; do
	echo "@@ file $file"
	cat $file
	echo "@@ end"
done
failed=$(awk -F, 'NR > 1 && $8 != 0' results | wc -l)
runs=$(sed -n 's/^runs: //p' status)
state=$(sed -n 's/^state: //p' status)
cd /
case $state in
done | failed*)
	rmmod handover || exit 3
	[ ! -e /sys/kernel/debug/handover ] || { echo "debugfs entries are left"; exit 4; }
	;;
esac
[ "$failed" -eq 0 ] || exit 5
# An experiment that was given up has rows without failures, or none.
[ "$state" = done ] && [ "${runs% of *}" = "${runs#* of }" ] || { echo "state: $state, runs: $runs"; exit 6; }
