# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# shellcheck shell=bash
# Sourced by the suites that search models: which searches there are, and which of them a planted bug names.
# shellcheck disable=SC2154 # env.sh sets them

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

# earlier NAME TOOLBOX FILE... : the folder in the cache for what NAME finds. It is a function of these files and of the tools
# of the toolbox, so what an earlier run has found there is found.
earlier() {
	local name=$1 toolbox
	toolbox=$("$top/scripts/build/$2-toolbox") || return
	shift 2
	echo "$cache/found-$name-$(digest "$@")-${toolbox##*/}"
}

# keep DIR FOLDER : DIR is found from now on, until nobody has made it anew for 30 days.
keep() {
	local new
	forget 30 'found-*' '.found-*'
	new=$(mktemp -d "$cache/.found-XXXXXX")
	cp -a "$1/." "$new"
	mv -T "$new" "$2" 2>/dev/null || rm -rf "$new"
}
