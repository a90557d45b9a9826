# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# The sample module, made of its own folder and two copies: it is loaded, used, removed, twice.
# shellcheck source=tests/guest/verdict.sh
. /verdict

# said LINE : the module's last lines in the log.
said() { [ "$(dmesg | sed -n 's/^.*rust_twa: //p' | tail -n "$1")" = "$2" ] || { dmesg | tail -n 5; return 1; }; }

used() {
	insmod /rust_twa.ko || return 1
	said 3 "counted to 6
a second taker is refused: true
took job 30, 1 in all" || return 1
	grep -q '^rust_twa ' /proc/modules || return 1
	rmmod rust_twa || return 1
	said 1 "took 3 in all"
}

verdict "the sample takes its locks" used
verdict "the sample is loaded again, with its static lock as new" used
finish
