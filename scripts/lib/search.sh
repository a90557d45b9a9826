# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# shellcheck shell=bash
# Sourced by the suites that search models: which searches there are, and which of them a planted bug names.

# chosen [NAME...] : of the names on standard input these, or all; dies of one that is not there.
chosen() {
	local all name
	all=$(cat)
	[ $# -gt 0 ] || { printf '%s\n' "$all" && return; }
	for name; do
		grep -Fx -e "$name" <<<"$all" || die "${0##*/}: there is no search $name; there are $(paste -sd' ' <<<"$all")"
	done
}

# keep_named WORLD : what is_named asks about, for the catalogues are read once.
keep_named() {
	named=$(scripts/mutants list --worlds "$1" | cut -f2 | cut -d' ' -f2-)
}

# is_named SEARCH : a bug of the catalogues must be found by it.
is_named() { grep -qFx -e "$1" <<<"$named"; }
