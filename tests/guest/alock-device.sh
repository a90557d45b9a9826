# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# alock-device.sh [TEST...] : ALock's tests that need a device (rust/alock/tests/device), on two
# devices of one guest, each in a process of its own. /files holds their program, and in
# LIST their names.
# shellcheck source=tests/guest/verdict.sh
. /verdict
# shellcheck source=tests/guest/rdma-net.sh
. /rdma-net
device_tests

run() {
	device_test device "$1" 400
	echo "$said" | sed -n "s/^# /# $1: /p" >>/tmp/remarks
	device_test_passed
}

# fails_without : a test that finds no device does not pass.
fails_without() {
	! ALOCK_DEVICES=none timeout 90 /files/device --exact "$1" >/tmp/said 2>&1 && grep -q 'NoDevice' /tmp/said
}

verdict "two devices" rdma_net 2
[ $failed -eq 0 ] || finish
: >/tmp/remarks
[ $# -eq 0 ] || printf '%s\n' "$@" >/files/LIST
from=$(uptime_s)
while read -r test; do
	verdict "$test" run "$test"
done </files/LIST
verdict "without its device a test fails" fails_without "$(head -n 1 /files/LIST)"
cat /tmp/remarks
echo "# $(wc -l </files/LIST) tests in $(($(uptime_s) - from)) s"
finish
