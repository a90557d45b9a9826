// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
// What the benchmarks share: threads that work until the time is over, and count.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace bench {

inline std::atomic<bool> stop{false};

// PROGRAM THREADS SECONDS : `body` is a thread's work until `stop`, and returns how many operations it has done. Prints
// their sum, which `check` is given: whether nothing was lost.
template <class Body, class Check> int run(int count, char **words, Body body, Check check)
{
	int all = count == 3 ? std::atoi(words[1]) : 0;
	double amount = count == 3 ? std::atof(words[2]) : 0;
	if (all < 1 || all > 1024 || amount <= 0) {
		std::fprintf(stderr, "%s: THREADS SECONDS: 1 to 1024, above 0\n", words[0]);
		return 2;
	}
	std::atomic<bool> go{false};
	std::atomic<long> sum{0};
	std::vector<std::thread> threads;
	for (int thread = 0; thread < all; thread++)
		threads.emplace_back([&, thread] {
			while (!go)
				std::this_thread::yield();
			sum += body(thread);
		});
	auto begin = std::chrono::steady_clock::now();
	go = true;
	std::this_thread::sleep_for(std::chrono::duration<double>(amount));
	stop = true;
	for (auto &thread : threads)
		thread.join();
	std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
	if (!check(sum.load())) {
		std::fprintf(stderr, "%s: %ld operations, some of which were lost\n", words[0], sum.load());
		return 1;
	}
	std::printf("ops=%ld seconds=%.6f\n", sum.load(), took.count());
	return 0;
}

// Whether a thread goes on.
inline bool on() { return !stop.load(std::memory_order_relaxed); }

} // namespace bench
