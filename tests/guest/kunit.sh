# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# The KUnit suites in the guest: they run as the module is loaded. The kernel's
# log since then becomes the file 'log'.
dmesg -c >/dev/null
insmod /handover.ko experiment=none || exit 1
rmmod handover || exit 3
echo "@@ file log"
dmesg
echo "@@ end"
