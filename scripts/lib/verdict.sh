# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# shellcheck shell=bash
# Sourced by the suites: how they tell what they found. $suite is how each line begins, and $out a folder of theirs.
# shellcheck disable=SC2154,SC2034 # the suite's

# verdict NAME [WHY] : 'ok $suite NAME' where there is no WHY; else 'not ok $suite NAME: WHY', and $failed is 1.
verdict() {
	if [ -z "${2:-}" ]; then echo "ok $suite $1"; else
		echo "not ok $suite $1: ${2//$'\n'/; }"
		failed=1
	fi
}

# refused SCRIPT KNOBS ALLOWED : prints what is wrong unless scripts/SCRIPT, with these knobs, says one line that names
# them and what is allowed, and does nothing else.
refused() {
	local said rc=0
	# shellcheck disable=SC2086 # a word a knob
	said=$(env $2 RUN_OUT="$out/refused" "scripts/$1" 2>&1) || rc=$?
	[ "$rc" -eq 1 ] && [ ! -e "$out/refused" ] || echo "exit $rc"
	[ "$said" = "handover: error: $1: $2: allowed: $3" ] || echo "it said: $said"
}
