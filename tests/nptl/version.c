// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/* Prints the version of the C library that is loaded. */
#include <gnu/libc-version.h>
#include <stdio.h>

int main(void)
{
	return puts(gnu_get_libc_version()) < 0;
}
