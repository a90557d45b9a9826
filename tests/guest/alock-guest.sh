# alock-guest.sh I NODES ARGUMENT... : this guest is node I of so many guests; alock-bench on
# all of them. Rank 0's files and table come out.
# shellcheck source=tests/guest/tell.sh
. /tell
# shellcheck source=tests/guest/rdma-net.sh
. /rdma-net

export RANK=$1 WORLD_SIZE=$2 MASTER_PORT=18550
shift 2
MASTER_ADDR=$(address 0)
export MASTER_ADDR
rdma_guest "$RANK" || exit 1
# As long as another guest may need for its start.
reaches() { ping -q -c 1 -W 1 "$(address "$1")" >/dev/null; }
i=0
while [ "$i" -lt "$WORLD_SIZE" ]; do
	poll 90 reaches "$i" || { echo "node $i: not reached"; exit 1; }
	i=$((i + 1))
done
{ /files/alock-bench -d "rxe$RANK" -x 1 --looks 8 --out /tmp/out "$@" >/tmp/said; } 2>&1 || exit 1
[ "$RANK" != 0 ] || tell_packed run.json /tmp/out/run.json
