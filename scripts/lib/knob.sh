# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# shellcheck shell=bash
# Sourced by the scripts that take their knobs from the environment.

# knob NAME VALUE LOW HIGH : dies unless the value is a whole number from LOW to HIGH, written without a zero before it.
knob() {
	if ! [[ $2 =~ ^(0|[1-9][0-9]{0,8})$ ]] || [ "$2" -lt "$3" ] || [ "$2" -gt "$4" ]; then
		die "${0##*/}: $1=$2: allowed: $3 to $4"
	fi
}
