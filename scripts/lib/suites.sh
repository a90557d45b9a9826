# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# shellcheck shell=bash
# Sourced by the doors that run several suites (scripts/test, scripts/test-deep): each suite prints 'ok NAME' or
# 'not ok NAME: why' lines, which are counted.

# begin FILE : what the suites print is counted in FILE, a new one.
begin() {
	lines=$1 began=$SECONDS
	mkdir -p "$(dirname "$lines")"
	: >"$lines"
}

# suite COMMAND... : one that fails without a 'not ok' line counts as a check that failed.
suite() {
	local before rc=0 from=$SECONDS
	before=$(grep -c '^not ok ' "$lines" || true)
	"$@" | tee -a "$lines" || rc=$?
	if [ $rc -ne 0 ] && [ "$(grep -c '^not ok ' "$lines" || true)" -eq "$before" ]; then
		echo "not ok $*: exit $rc" | tee -a "$lines"
	fi
	say "$*: $((SECONDS - from)) s"
}

# [AT_ONCE=N] together COMMAND... : suites side by side, each COMMAND a suite with its words: all of them, or N at a time.
# What one prints comes whole, in their order. Guests are as many at a time as otherwise (scripts/guest/boot).
# shellcheck disable=SC2317 # parallel calls functions by name
together() {
	local dir most=${AT_ONCE:-$#}
	dir=$(mktemp -d)
	# It is the suites' number, and none of theirs.
	unset AT_ONCE
	printf '%s\n' "$@" | AT_ONCE=$most parallel one_of_them "$dir"
	cat "$dir"/* >>"$lines"
	rm -r "$dir"
}
one_of_them() {
	local words
	unset AT_ONCE
	read -ra words <<<"$2"
	lines=$(mktemp -p "$1")
	suite "${words[@]}"
}

# counted WHAT : 'N passed, N failed' since begin, and of a WHAT its name and the seconds; fails if a check failed, or
# none passed.
counted() {
	passed=$(grep -c '^ok ' "$lines" || true)
	failed=$(grep -c '^not ok ' "$lines" || true)
	seconds=$((SECONDS - began))
	grep '^not ok ' "$lines" >&2 || true
	say "${1:+$1 }in $seconds s"
	echo "${1:+$1: }$passed passed, $failed failed${1:+, $seconds s}"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
