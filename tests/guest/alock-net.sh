# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# alock-net.sh exclusive|shared : soft-RoCE between network namespaces of one guest: what
# ALock's tests stand on. With `shared`, the connection manager too (see rdma-net.sh).
# shellcheck source=tests/guest/verdict.sh
. /verdict
rdma_mode=$1
# shellcheck source=tests/guest/rdma-net.sh
. /rdma-net

# listens NODE PORT : does a program of node NODE wait for connections?
listens() { in_node "$1" grep -q ":$(printf '%04X' "$2") [0-9A-F]*:0000 0A " /proc/net/tcp /proc/net/tcp6; }
manages() { in_node "$1" rdma resource show cm_id | grep -q "^link rxe$1/.* state LISTEN .*:$2 "; }
ended() { ! kill -0 "$1" 2>/dev/null; }
# counter NODE NAME : of its device; the start's namespace has it if that has the device.
counter() {
	file=/sys/class/infiniband/rxe$1/ports/1/hw_counters/$2
	cat "$file" 2>/dev/null || in_node "$1" cat "$file"
}

# pair SERVER CLIENT PROGRAM... : both ends of PROGRAM, the one of node SERVER first,
# which is ready as `$ready NODE PORT` says. What the client says is left in /tmp/client.
ready=listens
pair() {
	server=$1 client=$2 rc=0
	shift 2
	as_node "$server" "$@" -d "rxe$server" >/tmp/server 2>&1 &
	pid=$!
	poll 60 $ready "$server" 18515 || { echo "no server: $(tail -n 3 /tmp/server)"; kill $pid; return 1; }
	in_node "$client" timeout 60 "$@" -d "rxe$client" "$(address "$server")" >/tmp/client 2>&1 || rc=$?
	[ $rc -eq 0 ] || { echo "exit $rc: $(tail -n 3 /tmp/client)"; kill $pid; return 1; }
	wait $pid
}

# sees_devices I N : of N nodes.
sees_devices() {
	all=1
	[ $rdma_mode = exclusive ] || all=$2
	said=$(in_node "$1" ibv_devinfo -l)
	[ "$(echo "$said" | grep -c 'rxe[0-9]')" -eq "$all" ] && echo "$said" | grep -q "\<rxe$1$" || {
		echo "node $1: $said"
		return 1
	}
	[ "$(gid_index "$1")" = 1 ] || { echo "node $1: GID index $(gid_index "$1")"; return 1; }
}

# nodes N : that many nodes, which see their devices and reach one another.
nodes() {
	rdma_net "$1" || return 1
	i=0
	while [ $i -lt "$1" ]; do
		sees_devices $i $1 && poll 60 reaches $i $((($i + 1) % $1)) || return 1
		i=$((i + 1))
	done
}
reaches() { in_node "$1" ping -q -c 1 -W 1 "$(address "$2")" >/dev/null; }

pingpong() { pair "$1" "$2" ibv_rc_pingpong -e -g 1 -n 200; }

# latency WHAT SERVER CLIENT [OPTION...]
latency() {
	what=$1 from=$2 to=$3
	shift 3
	pair "$from" "$to" ib_atomic_lat -A CMP_AND_SWAP -x 1 -n 1000 -F "$@" || return 1
	micros=$(awk '$1 == 8 && $2 == 1000 { print "median " $5 " us, least " $3 " us" }' /tmp/client)
	[ -n "$micros" ] || { echo "no figure: $(cat /tmp/client)"; return 1; }
	echo "# CAS $what: $micros (1000 times)" >>/tmp/remarks
}

managed() {
	ready=manages
	latency "over the connection manager" 0 1 -R
}

# Bit 40 of the extended capabilities.
atomic_write() {
	flags=$(in_node 0 ibv_devinfo -v -d rxe0 | sed -n 's/.*device_cap_flags_ex:[^0-9]*\(0x[0-9A-Fa-f]*\).*/\1/p')
	[ -n "$flags" ] || { echo "no device_cap_flags_ex"; return 1; }
	echo "# device_cap_flags_ex $flags" >>/tmp/remarks
	[ $(((flags >> 40) & 1)) -eq 1 ]
}

ranks() {
	mpirun --allow-run-as-root --oversubscribe -n "$1" sh -c '. /rdma-net
		in_node $OMPI_COMM_WORLD_RANK sh -c "echo \$NODE \$OMPI_COMM_WORLD_RANK/\$OMPI_COMM_WORLD_SIZE"' \
		>/tmp/ranks 2>&1
	rc=$?
	[ $rc -eq 0 ] && grep -qx "0 0/$1" /tmp/ranks && grep -qx "$(($1 - 1)) $(($1 - 1))/$1" /tmp/ranks || {
		echo "exit $rc: $(cat /tmp/ranks)"
		return 1
	}
}

more() { [ "$(counter "$1" "$2")" -gt "$3" ]; }
# The cable is out while a ping-pong runs: nothing arrives. Then it is in again, and the
# nodes reach each other.
cut_and_mend() {
	before=$(counter 1 sent_pkts)
	rc=0
	# More than it comes to.
	as_node 0 ibv_rc_pingpong -e -g 1 -n 100000000 -d rxe0 >/tmp/server 2>&1 &
	server=$!
	poll 60 listens 0 18515 || { echo "no server"; kill $server; return 1; }
	as_node 1 ibv_rc_pingpong -e -g 1 -n 100000000 -d rxe1 "$(address 0)" >/tmp/client 2>&1 &
	client=$!
	stalls || rc=1
	mend 1 && poll 60 reaches 1 0
	kill $client $server 2>/dev/null
	wait $client $server
	return $rc
}
stalls() {
	poll 60 more 1 sent_pkts $((before + 100)) || { echo "nothing was sent: $(cat /tmp/client)"; return 1; }
	! ended $client || { echo "it ended before the cut"; return 1; }
	cut 1
	! reaches 1 0 || { echo "still reached"; return 1; }
	arrived=$(counter 0 rcvd_pkts)
	! reaches 1 0 || { echo "still reached"; return 1; }
	[ "$(counter 0 rcvd_pkts)" -eq "$arrived" ] || { echo "packets arrive"; return 1; }
	# Whether the ping-pong stalls or ends, and goes on then, is up to rxe (both were seen).
	mend 1 && poll 60 reaches 1 0 || { echo "not mended"; return 1; }
}

# one VERB : node 1 posts one to node 0, and it is lost on the way; the second time it gets
# through. How it ended is left in /tmp/client.
one() {
	as_node 0 /files/nic-try -d rxe0 -x 1 serve 0.0.0.0:7471 >/tmp/server 2>&1 &
	server=$!
	poll 60 grep -q listening /tmp/server || { echo "no server: $(cat /tmp/server)"; kill $server; return 1; }
	rm -f /tmp/go
	mkfifo /tmp/go
	as_node 1 /files/nic-try -d rxe1 -x 1 one "$1" "$(address 0):7471" </tmp/go >/tmp/client 2>&1 &
	client=$!
	exec 3>/tmp/go
	rc=0
	lost_once || rc=1
	exec 3>&-
	wait $client
	kill $server 2>/dev/null
	wait $server
	return $rc
}
lost_once() {
	poll 60 grep -q connected /tmp/client || { echo "not connected: $(cat /tmp/client)"; return 1; }
	retries=$(counter 1 completer_retry_err)
	lose 1
	echo >&3
	poll 60 more 1 completer_retry_err "$retries"
	keep 1
	poll 60 ended $client && [ "$(counter 1 completer_retry_err)" -gt "$retries" ] || { echo "$(cat /tmp/client)"; return 1; }
}
answered() { one "$1" && grep -qx "$1: answered" /tmp/client || { cat /tmp/client; return 1; }; }
# Linux's rxe (7.3, `req_retry`) forgets the address of an atomic write that it sends again.
answered_or_refused() {
	one write && grep -qE '^write: (answered|.*: remote access error)$' /tmp/client || { cat /tmp/client; return 1; }
	grep '^write: ' /tmp/client | sed 's/^/# sent again, /' >>/tmp/remarks
}

verdict "2 nodes" nodes 2
if [ $rdma_mode = shared ]; then
	verdict "CAS over the connection manager" managed
	cat /tmp/remarks
	finish
fi
verdict "4 nodes" nodes 4
[ $failed -eq 0 ] || finish
verdict "ping-pong between two nodes" pingpong 0 1
verdict "ping-pong between two others" pingpong 3 2
verdict "CAS across nodes" latency "across nodes" 0 1
verdict "CAS over loopback" latency "over loopback" 0 0
verdict "atomic write" atomic_write
verdict "mpirun, 2 ranks" ranks 2
verdict "mpirun, 4 ranks" ranks 4
verdict "a compare-and-swap that was lost is sent again" answered cas
verdict "a read that was lost is sent again" answered read
verdict "a write that was lost is sent again, or refused" answered_or_refused
verdict "nothing comes through a cut, and mended they reach each other" cut_and_mend
verdict "ping-pong after the cut" pingpong 0 1
cat /tmp/remarks
echo "# $(free -m | awk '$1 == "Mem:" { print $3 + $5 " MB of " $2 " used, " $7 " available" }')"
echo "# $(uptime_s) s since the kernel's start"
finish
