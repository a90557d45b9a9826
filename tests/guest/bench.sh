# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# The uncontended pair: bench.sh RUNS
# shellcheck source=tests/guest/verdict.sh
. /verdict
insmod /handover.ko experiment=uncontended runs="$1" || exit 1
await done 120 || exit 2
for file in uncontended status; do
	echo "@@ file $file"
	cat $debug/$file
	echo "@@ end"
done
rmmod handover || exit 3
