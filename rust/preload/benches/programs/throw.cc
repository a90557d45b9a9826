// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
// throw of the TWA paper (section 4.2): each thread throws and catches. Today's unwinder takes no lock; find_object.c puts
// one around what the old one took it for.
#include "bench.hh"

__attribute__((noinline)) static void throws(long value) { throw value; }

int main(int count, char **words)
{
	return bench::run(
		count, words,
		[](int) {
			long mine = 0;
			while (bench::on())
				try {
					throws(1);
				} catch (long one) {
					mine += one;
				}
			return mine;
		},
		[](long) { return true; });
}
