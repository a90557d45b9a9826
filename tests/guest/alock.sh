# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# alock.sh NODES BUDGETS ARGUMENT... : alock-bench on so many nodes of this guest; then with
# BUDGETS as its arguments (with ',,' for blanks). What rank 0 found comes out, packed.
# shellcheck source=tests/guest/verdict.sh
. /verdict
# shellcheck source=tests/guest/rdma-net.sh
. /rdma-net

nodes=$1 budgets=$(echo "$2" | sed 's/,,/ /g')
shift 2
rdma_net "$nodes" || exit 1
meet_at_node_0

# all DIR ARGUMENT... : on all nodes; rank 0's progress as it goes.
all() {
	local dir=$1 i=$nodes pids='' rc=0 pid
	shift
	export WORLD_SIZE=$nodes
	while [ "$i" -gt 1 ]; do
		i=$((i - 1))
		RANK=$i as_node $i /files/alock-bench -d rxe$i -x 1 --polls 8 "$@" >/tmp/said-$i 2>&1 &
		pids="$pids $!"
	done
	{ RANK=0 in_node 0 /files/alock-bench -d rxe0 -x 1 --polls 8 --out "$dir" "$@" >/tmp/said-0; } 2>&1 || rc=1
	for pid in $pids; do wait "$pid" || rc=1; done
	i=1
	while [ $rc -ne 0 ] && [ "$i" -lt "$nodes" ]; do
		sed "s/^/node $i: /" /tmp/said-$i
		i=$((i + 1))
	done
	return $rc
}

all /tmp/out "$@" || exit 1
tell_packed run.json /tmp/out/run.json
# shellcheck disable=SC2086 # a word an argument
all /tmp/budgets $budgets || exit 1
tell_packed budgets.json /tmp/budgets/run.json
