# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# shellcheck shell=bash
# Sourced by tests/suites/proof: what Coq compiles, where it refuses, and the accesses of both sides. `out` is the suite's
# folder, below $top and below $in_top.
# shellcheck disable=SC2154 # env.sh sets them

# coq DIR FILE... : compiles them, as many at a time as there are CPUs, each after those that it needs; FILE.ok has the
# tenths of a second. What needs one that Coq refuses is not compiled.
coq() {
	local dir=$1
	shift
	# shellcheck disable=SC2016 # the inner shell's
	TOOLBOX=proof scripts/in-toolbox env -C "$in_top/$dir" bash -c '
		limit=$1
		shift
		compile() {
			local began=${EPOCHREALTIME/./}
			timeout -k 5 "$limit" coqc -Q . handover -w -notation-overridden,-abstract-large-number \
				"$1.v" >"$1.log" 2>&1 && echo $(((${EPOCHREALTIME/./} - began) / 100000)) >"$1.ok"
		}
		ready() {
			local needed
			for needed in $(sed -n "s/^From handover Require Import \(.*\)\.$/\1/p" "$1.v"); do
				[ -f "$needed.ok" ] || return
			done
		}
		left=("$@") running=0
		while [ ${#left[@]} -gt 0 ]; do
			for at in "${!left[@]}"; do
				[ $running -lt "$(nproc)" ] && ready "${left[at]}" || continue
				compile "${left[at]}" &
				running=$((running + 1))
				unset "left[at]"
				continue 2
			done
			[ $running -gt 0 ] || break
			wait -n || true
			running=$((running - 1))
		done
		wait' coq "${PROOF_LIMIT_S:-300}" "$@" || true
}

# rest DIR FILE... : those that coq must compile. What the suite has compiled of the others is copied.
rest() {
	local dir=$1
	shift
	while [ $# -gt 0 ] && [ -f "$out/$1.ok" ] && cmp -s "$out/$1.v" "$dir/$1.v"; do
		cp -p "$out/$1".{vo,ok,log} "$dir"
		shift
	done
	[ $# -eq 0 ] || printf '%s\n' "$@"
}

# first_refused DIR FILE... : the first that Coq did not pass, if any.
first_refused() {
	local dir=$1 file
	shift
	for file; do
		[ -f "$dir/$file.ok" ] || { echo "$file" && return; }
	done
}

# refused DIR FILE : the lemma at which Coq refuses the file, then the line and what stands there. 'code' of a program,
# 'syntax' of what is no Coq, 'nothing' where Coq did not say.
refused() {
	local file=$1/$2.v log=$1/$2.log line
	line=$(awk '/^File / { at = $4 + 0 } /^Error/ { print at; exit }' "$log" 2>/dev/null)
	if [ -z "$line" ]; then
		echo nothing
		return
	elif grep -q '^Error: Syntax error' "$log"; then
		echo syntax
	elif [[ $2 = *_code ]]; then
		echo code
	else
		head -n "$line" "$file" |
			sed -nE 's/^ *((Local|Global|Program) )*(Lemma|Theorem|Definition|Instance|Fixpoint) ([^ ]+).*/\4/p' | tail -n 1
	fi
	echo "$2.v, line $line: $(sed -n "${line}s/^ *//p" "$file" | cut -c 1-60)"
}

# rust_traces : the accesses of the Rust code, in $out/rust.lines.
rust_traces() {
	mkdir -p "$out"
	"$top/scripts/build/host-deps" build/host
	step "the accesses of the Rust code" "$out/rust.log" env LINKER=lld "$top/scripts/in-toolbox" env CARGO_TARGET_DIR="$in_top/build/host" \
		HANDOVER_TRACES="$in_top/$out/rust.$BASHPID" cargo test -p handover-locks --locked --test host trace:: &&
		mv "$out/rust.$BASHPID" "$out/rust.lines"
}

# is_fresh : the Rust code has not changed since its accesses were written.
is_fresh() { [ -s "$out/rust.lines" ] && [ -z "$(find rust/locks -name '*.rs' -newer "$out/rust.lines" -print -quit)" ]; }

# accesses FILE LOCK : the lines of a lock, of what Coq or the test has said.
accesses() { sed -n "s/\"\$//; /^$2 /p" "$1" 2>/dev/null; }

# differ DIR LOCK : the first line in which the accesses differ, as Coq has it and as Rust has it; or nothing.
differ() {
	paste -d '\n' <(accesses "$1/traces.log" "$2" | sed 's/^/proof: /') <(accesses "$out/rust.lines" "$2" | sed 's/^/Rust: /') |
		awk '{ proof = $0; getline rust; a = proof; b = rust; sub(/^proof: /, "", a); sub(/^Rust: /, "", b) }
			!found && a != b { print proof " | " rust; found = 1 } END { if (!NR) print "no lines" }'
}
