# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# shellcheck shell=bash disable=SC2154 # who sources it has $dir
# Sourced by what fills a folder $dir with programs of a toolbox, for scripts/guest/boot --tree.

# put PATH... : with its folders; a link becomes what it names.
put() { cp -L --parents "$@" "$dir"; }

# put_libraries : of all programs and libraries that are there. The toolbox's folders for libraries are one folder
# with two names, and so they stay.
put_libraries() {
	local linked name
	linked=$(find "$dir" -type f \( -perm -100 -o -name '*.so*' \))
	mkdir -p "$dir/usr/lib64"
	ln -s usr/lib "$dir/lib"
	ln -s usr/lib64 "$dir/lib64"
	# shellcheck disable=SC2086 # paths without blanks
	ldd $linked | grep -o '/[^ :]*\.so[^ :]*' | sed -E 's,^/lib,/usr/lib,' | sort -u |
		while read -r name; do [ "$name" = "${name#/usr/}" ] || put "$name"; done
}
