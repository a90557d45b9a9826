# alock-pair.sh I : one of two guests, node I: a CAS of guest 1 on guest 0's memory.
# shellcheck source=tests/guest/tell.sh
. /tell
# shellcheck source=tests/guest/rdma-net.sh
. /rdma-net
I=$1

# As long as the other guest may need for its start.
reaches_other() { poll 90 ping -q -c 1 -W 1 "$(address $((1 - I)))" >/dev/null; }
test_cas() {
	if [ "$I" = 0 ]; then set --; else set -- "$(address 0)"; fi
	timeout 60 ib_atomic_lat -A CMP_AND_SWAP -x 1 -n 200 -F -d "rxe$I" "$@" >/tmp/said 2>&1
}
# The other's may not be waiting yet.
cas() { poll 60 test_cas || { tail -n 3 /tmp/said; return 1; }; }

verdict "a guest as a node" rdma_guest "$I"
verdict "two guests reach each other" reaches_other
verdict "CAS across guests" cas
awk '$1 == 8 && $2 == 200 { print "# CAS across guests: median " $5 " us, least " $3 " us (200 times)" }' /tmp/said
finish
