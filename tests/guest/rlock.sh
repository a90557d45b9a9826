# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# rlock's tests on this guest's kernel and CPUs, each in a process of its own. /files
# holds their programs, and in LIST a line 'PROGRAM TEST' for each.
# shellcheck source=tests/guest/verdict.sh
. /verdict
# Emulated CPUs, and fewer than it looks: everything takes its time.
export RLOCK_STRESS_MS=600

run() {
	said=$(timeout 120 "/files/$1" --exact "$2" 2>&1)
	rc=$?
	echo "$said" | grep -q "^test $2 \.\.\. ok$" && [ $rc -eq 0 ] && return 0
	echo "exit $rc: $(echo "$said" | grep -m 3 -A 2 'panicked at')"
	return 1
}

while read -r program test; do
	verdict "rlock: $test" run "$program" "$test"
done </files/LIST
finish
