# alock-lock.sh : ALock and its rivals on nodes of one guest: every section changes data,
# and the end finds every change; and what becomes of the others when one is gone.
# shellcheck source=tests/guest/tell.sh
. /tell
# shellcheck source=tests/guest/rdma-net.sh
. /rdma-net

export MASTER_PORT=18550
MASTER_ADDR=$(address 0)
export MASTER_ADDR
bench=/files/alock-bench

# start NODES ARGUMENT... : a process a node; their ids in $pids, by rank.
start() {
	export WORLD_SIZE=$1
	shift
	pids=
	i=0
	while [ "$i" -lt "$WORLD_SIZE" ]; do
		RANK=$i as_node $i $bench --looks 8 -d rxe$i -x 1 --out /tmp/out "$@" >/tmp/said-$i 2>/tmp/errors-$i &
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

short="--rounds 1 --duration 300"

# begun : rank 0 has come to its first point's end: they are at work.
begun() { grep -q 'alock-bench: 1 of' /tmp/errors-0; }

# found_out NODES : the control: with a lock that excludes nobody updates are lost, and all
# find it.
found_out() {
	start "$1" --lock busted --threads 2 --locks "$1" --locality 50 $short
	# shellcheck disable=SC2046 # numbers
	ends 1 $(seq 0 $(($1 - 1))) || return 1
	all_say "$1" 'an update was lost'
}
# all_say NODES TEXT
all_say() {
	i=0
	while [ $i -lt "$1" ]; do
		grep -q "$2" /tmp/errors-$i || { echo "rank $i: $(cat /tmp/errors-$i)"; return 1; }
		i=$((i + 1))
	done
}

# A process is killed: the others are told, and end with an error, which names it.
killed() {
	start 3 --lock alock --threads 2 --locks 20 --locality 50 --rounds 1000 --duration 300 --silence 5
	poll 60 begun || { echo "it did not begin: $(cat /tmp/errors-*)"; kill -9 $pids; return 1; }
	# shellcheck disable=SC2086 # a word a rank
	kill -9 $(echo $pids | busybox cut -d' ' -f3)
	ends 3 0 1 || return 1
	all_say 2 'node 2 is lost'
}

# The cable is out for good: all are told, in bounded time.
unplugged() {
	start 2 --lock alock --threads 1 --locks 20 --locality 50 --rounds 1000 --duration 300 --silence 5
	poll 60 begun || { echo "it did not begin: $(cat /tmp/errors-*)"; kill -9 $pids; return 1; }
	cut 1
	ends 3 0 1 && all_say 2 'node [01] is lost'
	rc=$?
	mend 1
	return $rc
}

# The cable is out for a moment: it goes on, or all are told in bounded time. Which, is up to
# what is on the way then: rxe takes a packet that its link could not take for an error of
# the queue pair, and an atomic write that it sends again for one to address 0.
plugged_again() {
	start 2 --lock alock --threads 1 --locks 20 --locality 50 --rounds 10 --duration 300 --silence 30
	poll 60 begun || { echo "it did not begin: $(cat /tmp/errors-*)"; kill -9 $pids; return 1; }
	cut 1
	# It was out: nothing came through.
	! in_node 1 ping -q -c 1 -W 1 "$(address 0)" >/dev/null || { echo "still reached"; kill -9 $pids; return 1; }
	mend 1
	first=$(echo $pids | busybox cut -d' ' -f1)
	poll 60 over "$first" || { echo "rank 0 does not end"; kill -9 $pids; return 1; }
	wait "$first"
	rc=$?
	case $rc in
	0 | 3) ends $rc 1 ;;
	*) echo "exit $rc: $(cat /tmp/errors-0)"; return 1 ;;
	esac
}

launched() {
	mpirun --allow-run-as-root --oversubscribe -n 2 sh -c '. /rdma-net
		in_node $OMPI_COMM_WORLD_RANK /files/alock-bench --looks 8 -d rxe$OMPI_COMM_WORLD_RANK -x 1 --out /tmp/out --threads 1 --locks 20 --locality 50 --rounds 1 --duration 300' \
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

# refuses TEXT ARGUMENT... : one line that says so, and nothing else.
refuses() {
	text=$1
	shift
	said=$(RANK=0 WORLD_SIZE=1 in_node 0 $bench "$@" 2>&1) && { echo "it was taken"; return 1; }
	echo "$said" | grep -q "$text" || { echo "$said"; return 1; }
}

verdict "two nodes" rdma_net 2
verdict "2 nodes, 2 threads, every kind: no update is lost" whole 2 --threads 2 --locks 2,20 --locality 50,85,100 $short
verdict "its tables and figures are drawn again" redrawn
verdict "2 nodes, budgets of 1" whole 2 --lock alock --threads 2 --locks 2 --locality 50 --local-budget 1 --remote-budget 1 $short
verdict "a lock that excludes nobody loses updates, and is found out" found_out 2
verdict "mpirun starts it" launched
verdict "a device that is not there is refused" refuses 'rxe0' -d rxe9 --locality 100
verdict "an address that is not there is refused" refuses '77' -d rxe0 -x 77 --locality 100
verdict "one node alone has no remote locks" refuses 'locality' -d rxe0 --locality 85
verdict "where nothing can be written nothing is run" refuses 'cannot write to /proc/out' -d rxe0 --locality 100 --out /proc/out
verdict "nothing to draw is said" refuses 'no run.json and no raw.csv in /files' --draw /files
verdict "a cable out for a moment: it goes on, or all are told" plugged_again
verdict "a cable out for good" unplugged
verdict "three nodes" rdma_net 3
verdict "3 nodes, every locality of the list: no update is lost" whole 3 --lock alock --threads 1 --locks 3 --locality 85,90,95,100 $short
verdict "a lock that excludes nobody is found out on three" found_out 3
verdict "four nodes" rdma_net 4
verdict "and on four" found_out 4
verdict "4 nodes, 2 threads: no update is lost" whole 4 --lock alock --threads 2 --locks 4,20 --locality 50,85 $short
verdict "a node is killed" killed
finish
