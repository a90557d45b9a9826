# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# alock-mutants.sh : of each mutant in /files/LIST (its program, a test, whether it may hang by it), whether that test finds
# it; before that, that the program `control`, of the crates as they are, passes all of these tests.
# shellcheck source=tests/guest/verdict.sh
. /verdict
# shellcheck source=tests/guest/rdma-net.sh
. /rdma-net
device_tests

passes() {
	from=$(uptime_s)
	device_test control "$1" 150
	# Whoever takes four times as long hangs.
	took=$((4 * ($(uptime_s) - from)))
	echo "$1 $((took > 40 ? took : 40))" >>/tmp/patience
	device_test_passed
}

# is_caught NAME TEST HANGS
is_caught() {
	device_test "$1" "$2" "$(awk -v test="$2" '$1 == test { print $2 }' /tmp/patience)"
	# A test that failed, and not a program that could not begin.
	[ $rc -eq 101 ] && echo "$said" | grep -q "panicked at" && return 0
	[ $rc -eq 143 ] && [ "$3" = yes ] && return 0
	echo "exit $rc: $(echo "$said" | tail -n 2)"
	return 1
}

verdict "two devices" rdma_net 2
[ $failed -eq 0 ] || finish
# (`cut` is rdma-net's, and cuts a link.)
awk '{ print $2 }' /files/LIST | sort -u >/tmp/tests
while read -r test; do
	verdict "device control $test" passes "$test"
done </tmp/tests
while read -r name test hangs; do
	verdict "device mutant $name (caught by $test)" is_caught "$name" "$test" "$hangs"
done </files/LIST
finish
