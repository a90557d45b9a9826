# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# alock-guest.sh I NODES ARGUMENT... : this guest is node I of so many guests; alock-bench on
# all of them. Rank 0's files and table come out.
# shellcheck source=tests/guest/verdict.sh
. /verdict
# shellcheck source=tests/guest/rdma-net.sh
. /rdma-net

export RANK=$1 WORLD_SIZE=$2
shift 2
meet_at_node_0
rdma_guest "$RANK" || exit 1
# As long as another guest may need for its start.
reaches() { ping -q -c 1 -W 1 "$(address "$1")" >/dev/null; }
i=0
while [ "$i" -lt "$WORLD_SIZE" ]; do
	poll 90 reaches "$i" || { echo "node $i: not reached"; exit 1; }
	i=$((i + 1))
done
{ /files/alock-bench -d "rxe$RANK" -x 1 --polls 8 --out /tmp/out "$@" >/tmp/said; } 2>&1 || exit 1
[ "$RANK" != 0 ] || tell_packed run.json /tmp/out/run.json
