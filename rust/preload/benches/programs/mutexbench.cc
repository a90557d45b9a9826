// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
// MutexBench of the TWA paper (Dice and Kogan 2019, section 4.1): four steps of one generator under a mutex, then 0 to 199
// steps of a generator of the thread's own.
#include <mutex>
#include <random>

#include "bench.hh"

static std::mutex mutex;
static std::mt19937 shared;
static long sections;

int main(int count, char **words)
{
	return bench::run(
		count, words,
		[](int thread) {
			std::mt19937 own(thread + 1);
			std::uniform_int_distribution<int> steps(0, 199);
			long mine = 0;
			for (; bench::on(); mine++) {
				{
					std::lock_guard<std::mutex> held(mutex);
					shared.discard(4);
					sections++;
				}
				own.discard(steps(own));
			}
			return mine;
		},
		[](long sum) {
			std::mt19937 due;
			due.discard(4ULL * sum);
			return sections == sum && shared == due;
		});
}
