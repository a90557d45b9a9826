# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# shellcheck shell=bash
# Sourced by the suites that have a kernel's headers lack something.

# fake_headers DIR RELEASE RUSTC BINDGEN : a kernel's build tree, of a kernel that was built with tools that say so of
# themselves. A module built with it is a file that has the release, and each build is a line of DIR/builds.
fake_headers() {
	mkdir -p "$1"/{include/config,rust}
	touch "$1/rust/libkernel.rmeta"
	# shellcheck disable=SC2016 # make's
	printf '%b\n' 'modules:' '\t@echo >>builds; mkdir -p $(MO)/rust && echo $(KERNELRELEASE) >$(MO)/rust/handover.ko' >"$1/Makefile"
	echo "$2" >"$1/include/config/kernel.release"
	printf '%s\n' CONFIG_RUST=y "CONFIG_RUSTC_VERSION_TEXT=\"$3\"" \
		"CONFIG_BINDGEN_VERSION_TEXT=\"$4\"" >"$1/include/config/auto.conf"
}

# fake_tools DIR RUSTC BINDGEN : programs rustc and bindgen that say this of themselves.
fake_tools() {
	local tool
	mkdir -p "$1"
	for tool in "rustc $2" "bindgen $3"; do
		printf '#!/bin/sh\necho "%s"\n' "${tool#* }" >"$1/${tool%% *}"
		chmod +x "$1/${tool%% *}"
	done
}
