# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# alock-pair.sh I : one of two guests, node I: a CAS of guest 1 on guest 0's memory, then
# ALock and its baselines.
# shellcheck source=tests/guest/verdict.sh
. /verdict
# shellcheck source=tests/guest/rdma-net.sh
. /rdma-net
I=$1

# As long as the other guest may need for its start.
reaches_other() { poll 240 ping -q -c 1 -W 1 "$(address $((1 - I)))" >/dev/null; }
test_cas() {
	if [ "$I" = 0 ]; then set --; else set -- "$(address 0)"; fi
	timeout 60 ib_atomic_lat -A CMP_AND_SWAP -x 1 -n 200 -F -d "rxe$I" "$@" >/tmp/said 2>&1
}
# The other's may not be waiting yet.
cas() { poll 60 test_cas || { tail -n 3 /tmp/said; return 1; }; }

# Every section changes data, and the end finds every change.
# bench PORT ARGUMENT... : of its own each time, or who is late meets the one before.
bench() {
	export RANK=$I WORLD_SIZE=2 MASTER_PORT=$1
	shift
	MASTER_ADDR=$(address 0) timeout 100 /files/alock-bench -d "rxe$I" -x 1 --polls 8 --out /tmp/out \
		--threads 2 --locality 50 --rounds 1 --duration 300 --silence 30 "$@" >/tmp/said 2>&1
}
locks() {
	bench 18550 --locks 2,20 || { tail -n 3 /tmp/said; return 1; }
	[ "$I" != 0 ] || [ "$(wc -l </tmp/out/summary.csv)" -eq 7 ]
}
# The control. Nobody may meet in one run: up to three. Both guests see the same, so the ports agree.
found_out() {
	for port in 18551 18552 18553; do
		! bench $port --lock busted --locks 2 && grep -q 'an update was lost' /tmp/said && return
	done
	tail -n 3 /tmp/said
	return 1
}

verdict "a guest as a node" rdma_guest "$I"
verdict "two guests reach each other" reaches_other
verdict "CAS across guests" cas
cas=$(awk '$1 == 8 && $2 == 200 { print "# CAS across guests: median " $5 " us, least " $3 " us (200 times)" }' /tmp/said)
verdict "ALock and its baselines across guests: no update is lost" locks
verdict "across guests, too, a lock that excludes nobody is found out" found_out
[ -z "$cas" ] || echo "$cas"
finish
