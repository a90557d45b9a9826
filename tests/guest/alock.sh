# alock.sh NODES ARGUMENT... : alock-bench on so many nodes of this guest; rank 0's files
# and table come out.
# shellcheck source=tests/guest/tell.sh
. /tell
# shellcheck source=tests/guest/rdma-net.sh
. /rdma-net

nodes=$1
shift
rdma_net "$nodes" || exit 1
export WORLD_SIZE=$nodes MASTER_PORT=18550
MASTER_ADDR=$(address 0)
export MASTER_ADDR
pids=
i=$nodes
while [ "$i" -gt 0 ]; do
	i=$((i - 1))
	errors=/tmp/errors-$i
	# How far it is, as it goes.
	[ $i -gt 0 ] || errors=/dev/stdout
	RANK=$i as_node $i /files/alock-bench --behind -d rxe$i -x "$(gid_index $i)" --out /tmp/out "$@" >/tmp/said-$i 2>$errors &
	pids="$pids $!"
done
rc=0
for pid in $pids; do wait "$pid" || rc=1; done
cat /tmp/said-0
i=1
while [ "$i" -lt "$nodes" ]; do
	sed "s/^/node $i: /" /tmp/errors-$i
	i=$((i + 1))
done
tell_files /tmp/out
exit $rc
