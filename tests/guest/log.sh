# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# What the kernel said until now becomes the file 'log'.
echo "@@ file log"
dmesg
echo "@@ end"
