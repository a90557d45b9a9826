# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154 # build is env.sh's
# Sourced by scripts/check: for its own checks a planted fault each, which must be found.

# Licences: beside a file that names its licence, one that does not.
spdx_control() {
	local tree=$build/check/spdx
	discard "$tree"
	mkdir -p "$tree" && git init -q "$tree" && cp REUSE.toml "$tree/" || return 1
	printf '# SPDX-License-Identifier: MIT\n' >"$tree/named"
	scripts/report/spdx "$tree" || return 1
	printf 'no licence\n' >"$tree/unnamed"
	[ "$(scripts/report/spdx "$tree")" = "unnamed: no SPDX-License-Identifier in its first five lines" ]
}

# The import circles: in a copy of the locks, which have no circle, one each is planted and found: by `use` of
# what a mod.rs hands on, by a path, and between a mod.rs and its child.
circles_control() {
	local tree=$build/check/circles root=build/check/circles/mod.rs files
	# The package's root is not below the folder's.
	files=$(git ls-files 'rust/locks/*.rs' ':!rust/locks/*/*' ':!rust/locks/lib.rs' | wc -l)
	copy() { discard "$tree" && mkdir -p "$tree" && cp rust/locks/*.rs "$tree/"; }
	is() { [ "$(scripts/in-toolbox scripts/report/circles $root | tail -n 1)" = "$1 import circles in $files files" ]; }
	copy && is 0 || return 1
	echo 'use super::WAIT_ARRAY_SLOTS as PLANTED;' >>"$tree/ticket.rs"
	is 1 || return 1
	copy && echo 'const PLANTED: u32 = super::twa::WAIT_ARRAY_SLOTS;' >>"$tree/ticket.rs"
	is 1 || return 1
	copy && echo 'use super::PLANTED;' >>"$tree/ticket.rs"
	is 0 || return 1
	echo 'const PLANTED: usize = size_of::<ticket::Ticket<u32>>();' >>"$tree/mod.rs"
	is 1
}

# The documents' form: planted faults are found, each, and what only looks like one is none.
prose_control() {
	local found
	prose tests/prose/good.md || return 1
	found=$(prose tests/prose/bad.md tests/prose/bad.rs tests/prose/names.toml) && return 1
	diff <(printf '%s\n' "$found") <(tail -n +2 tests/prose/bad.expected)
}

# The listings: of a page one line is changed, two change places, and the line that names the file is missing or names
# none. A comment of the kernel's part has no such line.
listings_control() {
	local at=build/check/listings.md of=rust/linux/sample/rust_twa_main.rs
	finds() { [[ $(listings "${2:-$at}") =~ ^"${2:-$at}":[0-9]+:" $1"$ ]]; }
	listings docs/kernel.md rust/linux/spin/lock.rs || return 1
	sed 's/self\.jobs\.lock()\.pop()/self.jobs.lock().last()/' docs/kernel.md >$at
	finds "not the next line of $of: let job = self.jobs.lock().last();" || return 1
	sed '/let queue = Queue::new/{h;d};/Ok(Self { queue })/G' docs/kernel.md >$at
	finds "not the next line of $of: let queue = Queue::new()?;" || return 1
	sed '0,/^<!-- lines of/{/^<!-- lines of/d}' docs/kernel.md >$at
	finds "no line before it says which file's lines these are" || return 1
	sed '0,/rust_twa_main/s//rust_twa_moved/' docs/kernel.md >$at
	finds "rust/linux/sample/rust_twa_moved.rs is no Rust file of the tree" || return 1
	mkdir -p build/check/rust/linux
	sed '0,/<!-- lines of/{/<!-- lines of/d}' rust/linux/spin/lock.rs >build/check/rust/linux/lock.rs
	finds "no line before it says which file's lines these are" build/check/rust/linux/lock.rs
}

# The claims: a page that a claim was taken out of.
claims_control() {
	local page=$build/check/claims.md
	cp docs/claims.md "$page" && scripts/mutants claims "$page" || return 1
	sed -i '0,/^| [^c-]/{/^| [^c-]/d}' "$page"
	! scripts/mutants claims "$page"
}

# Packages: one that inherits from a workspace does not compile alone.
alone_control() { ! stands_alone handover-locks 's/^edition = .*/edition.workspace = true/'; }
