# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# alock-baselines.sh ROUNDS : are the baselines crippled? Each, uncontended (one thread works, 1000
# locks), and perftest's compare-and-swap on the same path, in turns; over loopback and
# across nodes. baselines.csv comes out.
#
# perftest runs twice. Back to back it posts the next one in the instant in which one
# completes, while the kernel's threads that play the card are still awake: that is how soft-
# RoCE is at its fastest. Whoever does something in between finds them asleep; so the second
# one waits 3 us in between, and its period is the latency and the gap. nic is the same with
# our layer of verbs and nothing else, back to back.
#
# The baselines run as in the comparison with ALock (--polls 8), and, `alone`, without ever
# yielding, as perftest does.
# shellcheck source=tests/guest/verdict.sh
. /verdict
# shellcheck source=tests/guest/rdma-net.sh
. /rdma-net

meet_at_node_0

waits() { in_node "$1" grep -q ":4853 [0-9A-F]*:0000 0A " /proc/net/tcp; }
# perftest ROUND PATH SERVER NAME GAP : node 0's compare-and-swaps on node SERVER's memory,
# each so many us after the last one's completion.
perftest() {
	local pid is="$1,$2,$4,1" server=$3 gap=$5
	set -- ib_atomic_lat -A CMP_AND_SWAP -x 1 -n 3000 -F
	[ "$gap" -eq 0 ] || set -- "$@" --latency_gap="$gap"
	as_node "$server" "$@" -d "rxe$server" >/tmp/server 2>&1 &
	pid=$!
	poll 20 waits "$server" || { cat /tmp/server; kill $pid; return 1; }
	in_node 0 timeout 60 "$@" -d rxe0 "$(address "$server")" >/tmp/client 2>&1 || {
		cat /tmp/client
		kill $pid
		return 1
	}
	wait $pid
	# Its columns: bytes, operations, least, most, median, mean.
	awk -v is="$is" -v gap="$gap" '$1 == 8 && $2 == 3000 { print is "," 1000 * ($6 + gap) "," 1000 * ($5 + gap) }' /tmp/client >>/tmp/baselines.csv
}

# verbs ROUND PATH SERVER : node 0's, with nothing around them.
verbs() {
	local pid
	as_node "$3" /files/nic-try -d "rxe$3" -x 1 serve 0.0.0.0:7471 >/tmp/server 2>&1 &
	pid=$!
	poll 20 grep -q listening /tmp/server || { cat /tmp/server; kill $pid; return 1; }
	in_node 0 timeout 60 /files/nic-try -d rxe0 -x 1 connect "$(address "$3"):7471" >/tmp/client 2>&1 || {
		cat /tmp/client
		kill $pid
		return 1
	}
	wait $pid
	sed -nE "s/^(compare-and-swap|write|read): ([0-9]*) ns .*, ([0-9]*) ns on average$/$1,$2,nic \1,1,\3,\2/p" /tmp/client >>/tmp/baselines.csv
}

# baselines ROUND PATH NODES LOCALITY LOOKS NAME
baselines() {
	local i=$3 pids=
	export WORLD_SIZE=$3
	while [ "$i" -gt 0 ]; do
		i=$((i - 1))
		RANK=$i as_node $i /files/alock-bench -d rxe$i -x 1 --polls "$5" --out /tmp/baselines --lock rdma_spin,rdma_mcs --seed "$1" \
			--threads 1 --locks 1000 --locality "$4" --rounds 2 --at-work 1 --duration 200 >/tmp/said-$i 2>&1 &
		pids="$pids $!"
	done
	for pid in $pids; do wait "$pid" || { cat /tmp/said-*; return 1; }; done
	awk -F, -v is="$1,$2" -v name="$6" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ print is "," $at["lock"] name "," $at["work_requests"] / $at["operations"] "," 1e9 / $at["throughput"] "," $at["p50_ns"] }' \
		/tmp/baselines/raw.csv >>/tmp/baselines.csv
}

# of ROUND PATH SERVER NODES LOCALITY
of() {
	perftest $1 "$2" "$3" perftest 0 && perftest $1 "$2" "$3" "perftest with a gap" 3 && verbs $1 "$2" "$3" &&
		baselines $1 "$2" "$4" "$5" 8 && baselines $1 "$2" "$4" "$5" 1000000 ' alone'
}

# verbs: an operation's. ns: an operation's, on average; and the median.
echo round,path,what,verbs,ns,median_ns >/tmp/baselines.csv
rdma_net 2 || exit 1
round=0
while [ $round -lt "$1" ]; do
	of $round loopback 0 1 100 && of $round across 1 2 0 || exit 1
	round=$((round + 1))
	echo "round $round of $1"
done
tell_file baselines.csv /tmp/baselines.csv
