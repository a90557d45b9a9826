# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# Writers' work is in its place: their section has what it costs others, and what is outside runs beside it. Takes 90 s.
only=${1:-}
# shellcheck source=tests/guest/verdict.sh
. /verdict

# Two writers whose work is outside acquire at least two thirds of what one does. Two whose work, as much on the average,
# is in the section acquire no more than one, and less than three quarters of those. (Where the host is idle, twice and
# once what one does is due. On a busy host the one that waits costs the other its CPU: seen was once, and a tenth. Of
# each the best of twelve, judged once: rounds until all hold would give a fault twelve chances.)
placed() {
	alone=0 inside=0 outside=0
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
		alone=$(best $alone 20000 0) && inside=$(best $inside 20000 0 2) && outside=$(best $outside 0 40000 2) || return 1
	done
	echo "inside: one writer $alone, two $inside; outside: two $outside"
	[ $inside -gt 0 ] && [ $((outside * 3)) -ge $((alone * 2)) ] && [ $((inside * 10)) -le $((alone * 13)) ] &&
		[ $((inside * 4)) -le $((outside * 3)) ]
}

verdict "the writers' work is done in its place" placed
finish
