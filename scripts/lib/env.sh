# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# shellcheck shell=bash
# Sourced by every script: where things are, how to say things, and how a
# cached folder is made (beside, then renamed into place, under a lock).
# shellcheck disable=SC2034 # for those who source this

set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# Without a HOME are the scripts that dkms runs; they have no use for the cache.
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/handover
build=$top/build

# Inside the toolbox the clone and the cache stand at fixed places, so that what
# one clone built (absolute paths in a kernel's O= tree) serves the next.
in_top=/handover
in_cache=/cache

if [ -t 2 ]; then is_tty=1; else is_tty=; fi

say() { printf '%s\n' "handover: $*" >&2; }
die() {
	printf '%s\n' "handover: error: $*" >&2
	exit 1
}

# digest FILE... : a short key of the files' contents. What moves a file makes nothing anew.
digest() { (cd "$top" && sha256sum "$@" | cut -d' ' -f1 | sha256sum | cut -c1-12); }

# module_files : what the module is made from, in the folder that one stands in.
module_files() {
	find Kbuild rust/Kbuild rust/*.rs rust/locks/*.rs rust/measure/*.rs rust/linux scripts/build-module -type f |
		LC_ALL=C sort
}

# listed_locks [FILE] : the module's locks in the order of `all`, each with its kind, out of the lists that it is
# compiled with, or one of them. for_each_lock in rust/locks/list.rs says what the kinds are.
listed_locks() {
	[ $# -gt 0 ] || set -- rust/locks/list.rs rust/linux/harness/registry.rs
	(cd "$top" && sed -nE 's/^ +([a-z0-9_]+): .* = (usual|more|control|irq), ".*";$/\1 \2/p' "$@")
}

# locks [KIND] : their names; of a kind, or with `lock` of those that `all` means, alone.
locks() { listed_locks | awk -v kind="${1:-}" 'kind == "" || $2 == kind || (kind == "lock" && $2 != "control" && $2 != "irq") { print $1 }'; }

# The crates of which the host's tests are made; and those that need the RDMA toolbox.
host_crates=(rust/locks rust/measure rust/user rust/preload rust/c rust/coherence rust/rlock rust/rlock-bench rust/alock rust/alock-sim rust/figures)
rdma_crates=(rust/alock-bench rust/nic)
host_packages=(--workspace --exclude handover-alock-bench --exclude handover-nic)
rdma_packages=(-p handover-nic -p handover-alock-bench -p handover-alock --features "handover-alock/verbs,handover-alock/baselines")

# host_digest : a key of what the host's tests are made from.
host_digest() {
	(cd "$top" && find Cargo.toml Cargo.lock "${host_crates[@]}" "${rdma_crates[@]}" -type f | LC_ALL=C sort |
		xargs sha256sum | sha256sum | cut -c1-16)
}

# cached NAME COMMAND... : prints the folder $cache/NAME. When it is not there,
# runs COMMAND with a fresh folder beside it and a log's name as last arguments
# and renames the folder into place. Two makes at once: the second waits.
# COMMAND runs where bash ignores `set -e`: it chains its steps with &&.
cached() {
	local entry=$1 dir=$cache/$1 log=$cache/log/$1.log
	shift
	if [ ! -d "$dir" ]; then
		mkdir -p "$cache/log"
		(
			flock -n 9 || {
				say "another make is making $entry; waiting for it"
				flock 9
			}
			[ ! -d "$dir" ] || exit 0
			discard "$cache/.new-$entry"
			mkdir -p "$cache/.new-$entry" &&
				"$@" "$cache/.new-$entry" "$log" &&
				mv -T "$cache/.new-$entry" "$dir"
		) 9>"$cache/.lock-$entry" >&2 || return 1
	fi
	printf '%s\n' "$dir"
}

# forget DAYS PATTERN... : removes what nobody asked the cache for in so many days. Another make may rename or remove
# an entry meanwhile; find 4.9 fails then, -ignore_readdir_race or not, and what it left waits for the next call.
forget() {
	local days=$1 pattern
	shift
	for pattern; do
		find "$cache" -maxdepth 1 -name "$pattern" -mtime "+$days" -exec rm -rf {} + 2>/dev/null || true
	done
}

# discard DIR... : removes what a toolbox or a build left, read-only parts too.
discard() {
	local dir
	for dir; do
		[ -e "$dir" ] || continue
		chmod -R u+rwX "$dir" 2>/dev/null || true
		rm -rf "$dir"
	done
}

# step WHAT LOG COMMAND... : runs COMMAND with its output in LOG, shows WHAT and
# how far it is (seconds and the last line of the log), and the log's end when
# it fails.
step() {
	local what=$1 log=$2 from=$SECONDS pid rc=0
	shift 2
	mkdir -p "$(dirname "$log")"
	printf 'handover: %s ...\n' "$what" >&2
	# A group of its own, so that all of it can be ended with this.
	set -m
	"$@" >"$log" 2>&1 </dev/null 8>&- &
	pid=$!
	set +m
	trap 'kill -TERM -- -$pid 2>/dev/null || true; exit 130' INT TERM
	local next=30 pause=0.1
	while kill -0 "$pid" 2>/dev/null; do
		read -r -t $pause <> <(:) || true
		[ "$SECONDS" -eq "$from" ] || pause=1
		if [ -n "$is_tty" ]; then
			printf '\r\033[K  %4d s  %.60s' $((SECONDS - from)) \
				"$(tail -c 200 "$log" | tr -d '\r' | tail -n 1)" >&2
		elif [ $((SECONDS - from)) -ge "$next" ]; then
			next=$((next + 30))
			printf '  %4d s  %.60s\n' $((SECONDS - from)) \
				"$(tail -c 200 "$log" | tr -d '\r' | tail -n 1)" >&2
		fi
	done
	wait "$pid" || rc=$?
	trap - INT TERM
	[ -z "$is_tty" ] || printf '\r\033[K' >&2
	if [ "$rc" -ne 0 ]; then
		say "$what: failed (exit $rc); the end of $log:"
		tail -n 40 "$log" >&2
		return "$rc"
	fi
	say "$what: done in $((SECONDS - from)) s"
}

# alone: from here on no other make works in this clone's build/. What this one
# starts may. (`make clean` takes the file away: who waited for that one waits for the next.)
alone() {
	[ "${HANDOVER_ALONE:-}" != "$build" ] || return 0
	export HANDOVER_ALONE=$build
	while :; do
		mkdir -p "$build"
		exec 8>"$build/.lock"
		flock -n 8 || {
			say "another make works in this clone; waiting for it"
			flock 8
		}
		[ ! "$build/.lock" -ef /dev/fd/8 ] || break
	done
}

# [AT_ONCE=n] parallel COMMAND... : runs COMMAND once with each line of the input as its
# last argument, n at a time (one more than CPUs: a guest also sleeps); what one
# printed is not mixed with another's, and they come in the input's order. Fails if
# one failed.
parallel() {
	local dir item n=0 i rc=0 most=${AT_ONCE:-$(($(nproc) + 1))}
	dir=$(mktemp -d)
	trap 'kill -TERM $(jobs -rp) 2>/dev/null || true; rm -rf "$dir"; exit 130' INT TERM
	while read -r item <&3; do
		while [ "$(jobs -rp | wc -l)" -ge "$most" ]; do wait -n || true; done
		("$@" "$item") >"$dir/$n" 3<&- 8>&- &
		echo $! >>"$dir/pids"
		n=$((n + 1))
	done 3< <(cat)
	i=0
	while [ $i -lt $n ]; do
		wait "$(sed -n "$((i + 1))p" "$dir/pids")" || rc=1
		cat "$dir/$i"
		i=$((i + 1))
	done
	trap - INT TERM
	rm -rf "$dir"
	return $rc
}
