# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# shellcheck shell=bash
# Sourced by the scripts that take figures: whether this machine is theirs.

# cpu_times : the time of all CPUs since boot in which something ran, and all of it.
cpu_times() { awk '/^cpu / { printf "%.0f %.0f\n", $2 + $3 + $4 + $7 + $8, $2 + $3 + $4 + $5 + $6 + $7 + $8 }' /proc/stat; }

# busy : what runs on this machine in the next second, in hundredths of its CPUs' time.
busy() {
	local times
	times=$(cpu_times && sleep 1 && cpu_times)
	awk '{ now = 100 * (b ? ($1 - a) / ($2 - b) : 0); a = $1; b = $2 } END { print int(now) }' <<<"$times"
}

# remark_busy HUNDREDTHS : says that the figures are none, from 15 on.
remark_busy() {
	[ "$1" -lt 15 ] || echo "REMARK: this machine was not idle ($1 % busy before)." \
		"A lock whose next waiter is not running waits: take the table again."
}
