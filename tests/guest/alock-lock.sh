# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# alock-lock.sh : ALock and its baselines on nodes of one guest: every section changes data,
# and the end finds every change; and what becomes of the others when one is gone.
# shellcheck source=tests/guest/verdict.sh
. /verdict
# shellcheck source=tests/guest/rdma-net.sh
. /rdma-net

meet_at_node_0
bench=/files/alock-bench

# start NODES ARGUMENT... : a process a node; their ids in $pids, by rank.
start() {
	export WORLD_SIZE=$1
	shift
	pids=
	i=0
	while [ "$i" -lt "$WORLD_SIZE" ]; do
		RANK=$i as_node $i $bench --polls 8 -d rxe$i -x 1 --out /tmp/out "$@" >/tmp/said-$i 2>/tmp/errors-$i &
		pids="$pids $!"
		i=$((i + 1))
	done
}

# ends RC RANK... : the processes of these ranks end so within a minute.
ends() {
	want=$1
	shift
	for rank; do
		# shellcheck disable=SC2086 # a word a rank
		pid=$(echo $pids | busybox cut -d' ' -f$((rank + 1)))
		poll 60 over "$pid" || { echo "rank $rank does not end"; kill -9 $pids; return 1; }
		wait "$pid"
		rc=$?
		[ $rc -eq "$want" ] || { echo "rank $rank: exit $rc: $(tail -n 2 /tmp/errors-$rank)"; kill -9 $pids 2>/dev/null; return 1; }
	done
}
over() { ! kill -0 "$1" 2>/dev/null; }

# whole NODES ARGUMENT... : one run to its end.
whole() {
	start "$@"
	# shellcheck disable=SC2046 # numbers
	ends 0 $(seq 0 $(($1 - 1))) || return 1
	[ "$(wc -l </tmp/out/summary.csv)" -gt 1 ] || { echo "no summary"; return 1; }
}

# A host that stands still is no silence: who is lost is told of by its connection.
short="--rounds 1 --duration 300 --silence 30"

# Short points in which threads meet: few locks, held for a while, and every locality.
localities="50 85 90 95 100"
meet="--threads 2 --rounds 1 --duration 50 --hold 10000 --silence 30"
# every NODES LOCKS : every kind there.
every() {
	whole "$1" $meet --locks $2 --locality "$(echo $localities | tr ' ' ,)" || return 1
	awk -F, -v nodes=$1 -v points=$((15 * $(echo $2 | tr , ' ' | wc -w))) '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		{ found++; sum += $column["operations"] }
		END { print "# " nodes " nodes: " sum " operations at " found " points"; exit found != points }' /tmp/out/raw.csv >>/tmp/remarks
}
# found_out NODES : the control, at the points with the fewest locks: with a lock that excludes
# nobody updates are lost, and all find it. On a busy host nobody may meet in a run of 50 ms: up
# to five.
found_out() {
	for locality in $localities; do
		tries=0
		until
			start "$1" $meet --lock busted --locks $1 --locality $locality --seed $tries
			# In this shell, whose processes they are.
			{ ends 1 $(seq 0 $(($1 - 1))) && all_say "$1" 'an update was lost'; } >/tmp/why 2>&1
		do
			tries=$((tries + 1))
			[ $tries -lt 5 ] || { echo "at $locality %: $(cat /tmp/why)"; return 1; }
		done
	done
}
# all_say NODES TEXT : each, in a line.
all_say() {
	i=0
	while [ $i -lt "$1" ]; do
		[ "$(grep -c "$2" /tmp/errors-$i)" -eq 1 ] || { echo "rank $i: $(cat /tmp/errors-$i)"; return 1; }
		i=$((i + 1))
	done
}

# at_work NODES ARGUMENT... : one long point, and it has begun: rank 0 has sent some packets.
at_work() {
	sent=/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts
	before=$(in_node 0 cat $sent)
	start "$@" --rounds 1
	poll 60 sends || { echo "it did not begin: $(cat /tmp/errors-*)"; kill -9 $pids; return 1; }
}
sends() { [ "$(in_node 0 cat $sent)" -gt $((before + 500)) ]; }
few="--threads 2 --locks 4 --locality 50"

# A process is killed: the others are told, long before its silence is over, and end with an error,
# which names it.
killed() {
	at_work 3 --lock alock $few --duration 60000 --silence 50 || return 1
	from_kill=$(uptime_s)
	kill -9 $(echo $pids | busybox cut -d' ' -f3)
	ends 3 0 1 || return 1
	[ $(($(uptime_s) - from_kill)) -lt 45 ] || { echo "they waited for its silence"; return 1; }
	all_say 2 '^alock-bench: node 2 is lost: '
}

# kept WHAT NODES THREADS : of nodes that all live, with so many threads each. No operation that was
# over is missing in the data. One that was not may be there: at most one a thread. Exit 1:
# it is not so; 2: they have not said it.
kept() {
	i=0
	while [ $i -lt "$2" ]; do
		sed -n "s/^alock-bench: node $i: \([0-9]*\) operations, its locks sum to \([0-9]*\)$/\1 \2/p" /tmp/errors-$i
		i=$((i + 1))
	done >/tmp/sums
	awk -v what="$1" -v nodes=$2 -v threads=$3 '
		{ done += $1; found += $2 }
		END {
			print "# " what ": " done " operations, " found " in the data"
			if (NR != nodes || !done) exit 2
			exit found < done || found > done + nodes * threads
		}' /tmp/sums
}

# unplugged KIND : the cable is out for good: all are told, in bounded time. Both live.
unplugged() {
	at_work 2 --lock $1 $few --duration 60000 --silence 15 || return 1
	cut 1
	ends 3 0 1 && all_say 2 '^alock-bench: node [01] is lost: '
	rc=$?
	mend 1
	return $rc
}
unplugged_alock() { unplugged alock && kept "a cable out for good" 2 2 >>/tmp/remarks || { cat /tmp/errors-[01]; return 1; }; }
# The control.
unplugged_busted() {
	unplugged busted || return 1
	kept "the same without a lock" 2 2 >>/tmp/remarks
	[ $? -eq 1 ] || { cat /tmp/errors-[01]; return 1; }
}

# The cable is out for a moment: it goes on, or all are told in bounded time. Which, is up to
# what is on the way then: rxe takes a packet that its link could not take for an error of
# the queue pair, and an atomic write that it sends again for one to address 0.
plugged_again() {
	at_work 2 --lock alock $few --duration 5000 --silence 30 || return 1
	cut 1
	# It was out: nothing came through.
	! in_node 1 ping -q -c 1 -W 1 "$(address 0)" >/dev/null || { echo "still reached"; kill -9 $pids; return 1; }
	mend 1
	first=$(echo $pids | busybox cut -d' ' -f1)
	poll 60 over "$first" || { echo "rank 0 does not end"; kill -9 $pids; return 1; }
	wait "$first"
	rc=$?
	echo "# a cable out for a moment: exit $rc" >>/tmp/remarks
	case $rc in
	# It has checked its data itself.
	0) ends 0 1 ;;
	3) ends 3 1 && all_say 2 '^alock-bench: node [01] is lost: ' && kept "then" 2 2 >>/tmp/remarks || { cat /tmp/errors-[01]; return 1; } ;;
	*) echo "exit $rc: $(cat /tmp/errors-0)"; return 1 ;;
	esac
}

# The litmus before the first point; rxe keeps the order.
in_order() {
	whole 2 --lock alock $few $short --check-ordering 2000 || return 1
	for i in 0 1; do
		grep -q "^node $i: 2000 writes came, of which [1-9][0-9]* were seen to come in order" /tmp/said-$i || { cat /tmp/said-$i; return 1; }
	done
}

# The program that the documents show: two threads of each node add 100 each.
counted() {
	pids=
	for i in 0 1; do
		as_node $i /files/counter $i 2 "$MASTER_ADDR:$MASTER_PORT" >/tmp/said-$i 2>/tmp/errors-$i &
		pids="$pids $!"
	done
	ends 0 0 1 || return 1
	for i in 0 1; do
		grep -qx "node $i: the counter is 400" /tmp/said-$i || { cat /tmp/said-$i; return 1; }
	done
}

launched() {
	mpirun --allow-run-as-root --oversubscribe -n 2 sh -c '. /rdma-net
		in_node $OMPI_COMM_WORLD_RANK /files/alock-bench --polls 8 -d rxe$OMPI_COMM_WORLD_RANK -x 1 --out /tmp/out --threads 1 --locks 20 --locality 50 --rounds 1 --duration 300 --silence 30' \
		>/tmp/said 2>&1 || { tail -n 3 /tmp/said; return 1; }
	grep -q '^| 1 | 20 | 50 % | rdma_mcs |' /tmp/said
}

# Tables and figures come again from run.json alone, where there is no device.
redrawn() {
	rm -rf /tmp/again && mkdir /tmp/again && cp /tmp/out/run.json /tmp/again/ || return 1
	$bench --draw /tmp/again >/tmp/said 2>&1 || { cat /tmp/said; return 1; }
	for file in raw.csv summary.csv throughput.svg latency.svg loopback.svg queue-pairs.svg; do
		cmp /tmp/out/$file /tmp/again/$file || return 1
	done
}

# refuses TEXT ARGUMENT... : one line that says so, perhaps its causes in others, and nothing else.
refuses() {
	text=$1
	shift
	said=$(RANK=0 WORLD_SIZE=1 in_node 0 $bench "$@" 2>&1) && { echo "it was taken"; return 1; }
	echo "$said" | grep -qe "$text" && [ "$(echo "$said" | grep -cv '^alock-bench: because: ')" -eq 1 ] || { echo "$said"; return 1; }
}

: >/tmp/remarks
from=$(uptime_s)
verdict "two nodes" rdma_net 2
verdict "2 nodes, 2 threads, every kind and locality: no update is lost" every 2 2,20
verdict "its tables and figures are drawn again" redrawn
verdict "2 nodes, budgets of 1" whole 2 --lock alock --threads 2 --locks 2 --locality 50 --local-budget 1 --remote-budget 1 $short
verdict "a lock that excludes nobody loses updates at every locality, and is found out" found_out 2
verdict "writes between two nodes come in order" in_order
verdict "packets of another class, level and hop limit get there" whole 2 --lock alock $few $short --traffic-class 106 --service-level 3 --hop-limit 9
verdict "mpirun starts it" launched
verdict "the example of the documents counts all that two nodes add" counted
verdict "a device that is not there is refused" refuses 'there are: rxe0' -d rxe9 --locality 100
verdict "an address that is not there is refused" refuses 'has no GID 77: ' -d rxe0 -x 77 --locality 100
verdict "a port of the device that is not there is refused" refuses '--ib-port 2: ' -d rxe0 -i 2 --locality 100
verdict "a service level that there is not is refused" refuses "'16' for '--service-level" -d rxe0 --service-level 16 --locality 100
verdict "a partition key that the port has not is refused" refuses '--pkey-index 7: ' -d rxe0 --pkey-index 7 --locality 100
verdict "one node alone has no remote locks" refuses 'locality' -d rxe0 --locality 85
verdict "where nothing can be written nothing is run" refuses 'cannot write to /proc/out' -d rxe0 --locality 100 --out /proc/out
verdict "nothing to draw is said" refuses 'no run.json and no raw.csv in /files' --draw /files
verdict "a cable out for a moment: it goes on, or all are told" plugged_again
verdict "a cable out for good: all are told, and no update that was acknowledged is lost" unplugged_alock
verdict "a cable out for good: a lock that excludes nobody is found out" unplugged_busted
verdict "three nodes" rdma_net 3
verdict "3 nodes, 2 threads, every kind and locality: no update is lost" every 3 3
verdict "a lock that excludes nobody is found out on three" found_out 3
verdict "a node is killed" killed
verdict "four nodes" rdma_net 4
verdict "4 nodes, 2 threads, every kind and locality: no update is lost" every 4 4
verdict "a lock that excludes nobody is found out on four" found_out 4
cat /tmp/remarks
echo "# all of it in $(($(uptime_s) - from)) s"
finish
