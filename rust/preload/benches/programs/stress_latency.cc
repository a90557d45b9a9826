// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
// stress_latency of the TWA paper (section 4.3), after libslock's program of that name: one lock, one line of data, 200 empty
// steps under the lock and 5000 outside.
#include <mutex>

#include "bench.hh"

static std::mutex mutex;
alignas(64) static volatile long line;

static void steps(int all)
{
	for (int step = 0; step < all; step++)
		asm volatile("nop");
}

int main(int count, char **words)
{
	return bench::run(
		count, words,
		[](int) {
			long mine = 0;
			for (; bench::on(); mine++) {
				{
					std::lock_guard<std::mutex> held(mutex);
					line = line + 1;
					steps(200);
				}
				steps(5000);
			}
			return mine;
		},
		[](long sum) { return line == sum; });
}
