# Soft-RoCE between network namespaces of one guest: what ALock's tests stand on.
# shellcheck source=tests/guest/tell.sh
. /tell
# shellcheck source=tests/guest/rdma-net.sh
. /rdma-net

# listens NODE PORT : does a program of node NODE wait for connections?
listens() { in_node "$1" grep -q ":$(printf '%04X' "$2") [0-9A-F]*:0000 0A " /proc/net/tcp /proc/net/tcp6; }
ended() { ! kill -0 "$1" 2>/dev/null; }
# counter NODE NAME : of its device.
counter() { in_node "$1" cat "/sys/class/infiniband/rxe$1/ports/1/hw_counters/$2"; }

# pair SERVER CLIENT PROGRAM... : both ends of PROGRAM, the one of node SERVER first.
# What the client says is left in /tmp/client.
pair() {
	server=$1 client=$2 rc=0
	shift 2
	as_node "$server" "$@" -d "rxe$server" >/tmp/server 2>&1 &
	pid=$!
	poll 20 listens "$server" 18515 || { echo "no server: $(tail -n 3 /tmp/server)"; kill $pid; return 1; }
	in_node "$client" timeout 60 "$@" -d "rxe$client" "$(address "$server")" >/tmp/client 2>&1 || rc=$?
	[ $rc -eq 0 ] || { echo "exit $rc: $(tail -n 3 /tmp/client)"; kill $pid; return 1; }
	wait $pid
}

sees_its_device() {
	said=$(in_node "$1" ibv_devinfo -l | tr -d '\t ')
	[ "$(echo $said)" = "1HCAfound: rxe$1" ] || { echo "node $1: $said"; return 1; }
	[ "$(gid_index "$1")" = 1 ] || { echo "node $1: GID index $(gid_index "$1")"; return 1; }
}

# nodes N : that many nodes, each with a device of its own, that reach one another.
nodes() {
	rdma_net "$1" || return 1
	i=0
	while [ $i -lt "$1" ]; do
		sees_its_device $i && reaches $i $((($i + 1) % $1)) || return 1
		i=$((i + 1))
	done
}
reaches() { in_node "$1" ping -q -c 1 -W 1 "$(address "$2")" >/dev/null; }

pingpong() { pair "$1" "$2" ibv_rc_pingpong -g 1 -n 200; }

# latency WHAT SERVER CLIENT
latency() {
	pair "$2" "$3" ib_atomic_lat -A CMP_AND_SWAP -x 1 -n 1000 -F || return 1
	micros=$(awk '$1 == 8 && $2 == 1000 { print $5 }' /tmp/client)
	[ -n "$micros" ] || { echo "no figure: $(cat /tmp/client)"; return 1; }
	echo "# CAS $1: $micros us (the median of 1000)" >>/tmp/remarks
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

sent_more() { [ "$(counter "$1" sent_pkts)" -gt "$2" ]; }
# The cable is out while a ping-pong runs: it fails within the limit, with a lost
# connection, and not before; then it is in again, and the nodes reach each other.
cut_and_mend() {
	as_node 0 ibv_rc_pingpong -g 1 -n 100000000 -d rxe0 >/tmp/server 2>&1 &
	server=$!
	poll 20 listens 0 18515 || { echo "no server"; return 1; }
	as_node 1 ibv_rc_pingpong -g 1 -n 100000000 -d rxe1 "$(address 0)" >/tmp/client 2>&1 &
	client=$!
	poll 20 sent_more 1 $(($(counter 1 sent_pkts) + 200)) || { echo "nothing was sent: $(cat /tmp/client)"; return 1; }
	! ended $client || { echo "it ended before the cut"; return 1; }
	from=$(uptime_s)
	cut 1
	! reaches 1 0 || { echo "still reached"; return 1; }
	poll 60 ended $client || poll 1 ended $server || { echo "it did not notice"; kill $client $server; return 1; }
	echo "# cut noticed after $(($(uptime_s) - from)) s: $(grep -h -m 1 status /tmp/client /tmp/server)" >>/tmp/remarks
	kill $client $server 2>/dev/null
	mend 1
	poll 20 reaches 1 0 || { echo "not mended"; return 1; }
}

verdict "2 nodes" nodes 2
verdict "4 nodes" nodes 4
[ $failed -eq 0 ] || finish
verdict "ping-pong between two nodes" pingpong 0 1
verdict "ping-pong between two others" pingpong 3 2
verdict "CAS across nodes" latency "across nodes" 0 1
verdict "CAS over loopback" latency "over loopback" 0 0
verdict "atomic write" atomic_write
verdict "mpirun, 2 ranks" ranks 2
verdict "mpirun, 4 ranks" ranks 4
verdict "a cut is noticed and mended" cut_and_mend
verdict "ping-pong after the cut" pingpong 0 1
cat /tmp/remarks
echo "# $(free -m | awk '$1 == "Mem:" { print $3 + $5 " MB of " $2 " used, " $7 " available" }')"
echo "# $(uptime_s) s since the kernel's start"
finish
