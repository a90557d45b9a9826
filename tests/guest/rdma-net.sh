# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# Sourced by the guest's jobs and by what they start (it comes to /rdma-net): nodes with
# soft-RoCE. Node I is the network namespace nI: its end of a veth is eth0, with the
# address 10.77.0.(I+1), its device rxeI, the GID of that address the one of index 1.
# The other end is portI, on the bridge br0 in the namespace of the start.
# rdma_mode, set before the first rdma_net: with `exclusive` a node sees its own device
# alone, as nodes do, but rdma_cm does not work (rxe keeps a device that moved from having
# its queue pair 1 again); with `shared` it works, and every node sees all devices.
rdma_mode=${rdma_mode:-exclusive}
export PATH=/usr/sbin:/usr/bin:/bin

# Busybox's shell prefers its own.
ip() { /usr/sbin/ip "$@"; }

# poll SECONDS COMMAND... : until COMMAND succeeds.
poll() {
	local until last looks=0
	until=$(($(uptime_s) + $1)) last=$(($(uptime_s) + 4 * $1))
	shift
	until "$@"; do
		looks=$((looks + 1))
		# While the host stood still time went on, and nobody looked.
		[ "$(uptime_s)" -le "$until" ] || { [ $looks -lt 20 ] && [ "$(uptime_s)" -le "$last" ]; } || return 1
		usleep 50000
	done
}
uptime_s() { sed 's/\..*//' /proc/uptime; }

# in_node I COMMAND... : runs the program COMMAND in node I, with that node's /sys (`ip
# netns` makes a mount namespace for it), and NODE=I.
in_node() { (as_node "$@"); }
# as_node I COMMAND... : in place of this shell; so after `as_node ... &` $! is COMMAND.
as_node() {
	export NODE=$1
	shift
	exec /usr/sbin/ip netns exec "n$NODE" "$@"
}

address() { echo "10.77.0.$(($1 + 1))"; }
gid() { printf '0000:0000:0000:0000:0000:ffff:0a4d:%04x\n' $(($1 + 1)); }

# meet_at_node_0 : what is started from here on, alock-bench of every rank, finds rank 0 at node 0.
meet_at_node_0() {
	MASTER_PORT=18550 MASTER_ADDR=$(address 0)
	export MASTER_PORT MASTER_ADDR
}

# gid_index I : the index of node I's GID that holds its IPv4 address; fails without.
gid_index() {
	# shellcheck disable=SC2016 # the inner shell's
	in_node "$1" sh -c 'i=0
		while [ $i -lt 16 ]; do
			grep -qx "$1" "/sys/class/infiniband/rxe$NODE/ports/1/gids/$i" && echo $i && exit
			i=$((i + 1))
		done
		exit 1' sh "$(gid "$1")" 2>/dev/null
}

load_modules() {
	local module
	while read -r module; do
		[ -e "/sys/module/$module" ] || insmod "/modules/$module.ko" || return 1
	done </modules/ORDER
}

start_system() {
	mkdir -p /dev/pts /dev/shm
	mount -t devpts devpts /dev/pts && mount -t tmpfs shm /dev/shm && hostname guest &&
		load_modules && ip link set lo up
}

# rdma_start : once, before the first node.
rdma_start() {
	start_system &&
		# Refused as soon as there is another namespace.
		rdma system set netns $rdma_mode &&
		ip link add br0 type bridge && ip link set br0 up
}

# rdma_guest I : this guest is node I, by its NIC (boot --net), without namespaces.
rdma_guest() {
	start_system && echo 1 >/proc/sys/net/ipv6/conf/eth0/disable_ipv6 &&
		ip address add "$(address "$1")/24" dev eth0 && ip link set eth0 up &&
		rdma link add "rxe$1" type rxe netdev eth0 &&
		poll 10 grep -qx "$(gid "$1")" "/sys/class/infiniband/rxe$1/ports/1/gids/1"
}

add_node() {
	ip netns add "n$1" &&
		# No IPv6, so that the order of the GIDs does not hang on when its addresses come.
		in_node "$1" sh -c 'echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6' &&
		ip link add "port$1" type veth peer name eth0 address "52:54:00:77:00:0$1" \
			netns "n$1" &&
		ip link set "port$1" master br0 up &&
		ip -n "n$1" link set lo up &&
		ip -n "n$1" address add "$(address "$1")/24" dev eth0 &&
		ip -n "n$1" link set eth0 up &&
		in_node "$1" rdma link add "rxe$1" type rxe netdev eth0 &&
		# It was made in the namespace of the start, whichever its netdev is in.
		{ [ $rdma_mode = shared ] || rdma dev set "rxe$1" netns "n$1"; } &&
		poll 10 gid_index "$1" >/dev/null
}

# rdma_net N : so that there are the nodes 0 to N-1 (at most 10).
rdma_net() {
	local i=0
	ip link show br0 >/dev/null 2>&1 || rdma_start || return 1
	while [ $i -lt "$1" ]; do
		[ -e "/run/netns/n$i" ] || add_node $i || return 1
		i=$((i + 1))
	done
}

# lose I, keep I : the switch forgets node I's port, and has it again. The node's own link is
# up all the time: what it sends is lost on the way.
lose() { ip link set "port$1" nomaster; }
keep() { ip link set "port$1" master br0 && forwards "$1"; }
forwards() { poll 10 grep -qx 3 "/sys/class/net/port$1/brport/state"; }
# cut I, mend I : node I's cable is out, and in again. Its link is down: rxe takes what it
# cannot send for an error of the queue pair.
cut() { ip link set "port$1" down; }
mend() {
	ip link set "port$1" up && forwards "$1"
}

# device_tests : the tests that need a device follow; one process has the devices of both nodes.
device_tests() {
	rdma_mode=shared
	export ALOCK_DEVICES="rxe0 rxe1"
}

# device_test PROGRAM TEST SECONDS : what the test said, in $said, and its exit, in $rc.
device_test() {
	said=$(timeout "$3" "/files/$1" --exact "$2" --nocapture 2>&1)
	rc=$?
}

# device_test_passed : that one did; else why not.
device_test_passed() {
	echo "$said" | grep -q "^test result: ok. 1 passed" && [ $rc -eq 0 ] && return 0
	echo "exit $rc: $(echo "$said" | grep -m 3 -A 2 'panicked at')"
	return 1
}
