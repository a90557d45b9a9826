// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
// C++'s mutexes and condition variables. The program counts its own calls, and those that the library's source makes for it.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <unistd.h>
#include <vector>

#include "hangs.h"

using namespace std::chrono_literals;

namespace {

std::atomic<long long> locks, try_locks, timed_locks, unlocks, waits, timed_waits, signals, broadcasts, left;

#define DUE(is, due) \
	do { \
		long long is_ = (is), due_ = (due); \
		if (is_ != due_) { \
			std::fprintf(stderr, "%s:%d: %s is %lld, due is %lld\n", __FILE__, __LINE__, #is, is_, due_); \
			_exit(1); \
		} \
		check_passed(); \
	} while (0)

// A mutex that counts.
template <class M> struct Counted : M {
	void lock()
	{
		locks++;
		M::lock();
	}
	bool try_lock()
	{
		try_locks++;
		return M::try_lock();
	}
	template <class T> bool try_lock_for(T time)
	{
		timed_locks++;
		return M::try_lock_for(time);
	}
	void unlock()
	{
		unlocks++;
		M::unlock();
		check_passed();
	}
};

// A section of a mutex with which condition variables are used.
struct Section {
	std::unique_lock<std::mutex> held;
	explicit Section(std::mutex &mutex) : held(mutex) { locks++; }
	~Section()
	{
		unlocks++;
		check_passed();
	}
	void wait(std::condition_variable &cond)
	{
		waits++;
		cond.wait(held);
	}
};

constexpr int sides = 3;
// The program's argument divides all numbers of sections: threads that spin, and are more than CPUs, are slow.
int divisor = 1;
int items = 5000;
constexpr size_t room = 8;

std::mutex mutex;
std::condition_variable not_full, not_empty;
std::deque<int> buffer;
long long sum;

void bounded_buffer()
{
	std::vector<std::thread> threads;
	for (int side = 0; side < sides; side++) {
		threads.emplace_back([side] {
			for (int i = 0; i < items; i++) {
				Section section(mutex);
				while (buffer.size() == room)
					section.wait(not_full);
				buffer.push_back(side * items + i);
				signals++;
				not_empty.notify_one();
			}
		});
		threads.emplace_back([] {
			for (int i = 0; i < items; i++) {
				Section section(mutex);
				while (buffer.empty())
					section.wait(not_empty);
				sum += buffer.front();
				buffer.pop_front();
				signals++;
				not_full.notify_one();
			}
		});
	}
	for (auto &thread : threads)
		thread.join();
	DUE(sum, (long long)sides * items * (sides * items - 1) / 2);
}

// A condition variable for any lock has a mutex within. A wait takes it once; a signal, too.
void any_lock()
{
	Counted<std::mutex> own;
	std::condition_variable_any turn;
	int whose = 0;
	std::vector<std::thread> threads;
	for (int me = 0; me < 2; me++)
		threads.emplace_back([&, me] {
			for (int i = 0; i < 500 / divisor; i++) {
				std::unique_lock<Counted<std::mutex>> held(own);
				while (whose != me) {
					locks++, waits++, unlocks++;
					turn.wait(held);
				}
				whose = 1 - me;
				locks++, broadcasts++, unlocks++;
				turn.notify_all();
			}
		});
	for (auto &thread : threads)
		thread.join();
}

void time_limits()
{
	std::condition_variable never;
	{
		Section section(mutex);
		timed_waits += 3;
		DUE(never.wait_for(section.held, 10ms) == std::cv_status::timeout, 1);
		DUE(never.wait_until(section.held, std::chrono::steady_clock::now() + 10ms) == std::cv_status::timeout, 1);
		DUE(never.wait_until(section.held, std::chrono::system_clock::now() + 10ms) == std::cv_status::timeout, 1);
	}
	Counted<std::timed_mutex> timed;
	std::lock_guard<Counted<std::timed_mutex>> held(timed);
	std::thread([&] {
		auto begin = std::chrono::steady_clock::now();
		DUE(timed.try_lock(), 0);
		DUE(timed.try_lock_for(20ms), 0);
		DUE(std::chrono::steady_clock::now() - begin >= 20ms, 1);
	}).join();
}

// Two mutexes at once, by std::lock: whoever finds the second taken lets the first go.
void both()
{
	Counted<std::mutex> a, b;
	long count = 0;
	std::vector<std::thread> threads;
	for (int i = 0; i < 4; i++)
		threads.emplace_back([&, i] {
			for (int n = 0; n < 2000 / divisor; n++) {
				if (i % 2)
					std::lock(a, b);
				else
					std::lock(b, a);
				count++;
				a.unlock();
				b.unlock();
			}
		});
	for (auto &thread : threads)
		thread.join();
	DUE(count, 4 * (2000 / divisor));
}

// glibc's: a recursive mutex is left to it. A read-write lock, a flag for one call, and a future have no mutex.
void others()
{
	std::recursive_mutex recursive;
	for (int depth = 0; depth < 3; depth++) {
		left++;
		recursive.lock();
	}
	for (int depth = 0; depth < 3; depth++) {
		left++;
		recursive.unlock();
	}
	std::shared_mutex shared;
	std::once_flag once;
	std::atomic<int> calls{0};
	auto body = [&] {
		std::shared_lock<std::shared_mutex> held(shared);
		std::call_once(once, [&] { calls++; });
		return 7;
	};
	auto first = std::async(std::launch::async, body), second = std::async(std::launch::async, body);
	DUE(first.get() + second.get(), 14);
	DUE(calls, 1);
}

// An exception leaves a section, and the mutex is free.
void exceptions()
{
	Counted<std::mutex> own;
	long caught = 0;
	std::vector<std::thread> threads;
	for (int i = 0; i < 4; i++)
		threads.emplace_back([&] {
			for (int n = 0; n < 500 / divisor; n++)
				try {
					std::lock_guard<Counted<std::mutex>> held(own);
					throw caught++;
				} catch (long) {
				}
		});
	for (auto &thread : threads)
		thread.join();
	DUE(caught, 4 * (500 / divisor));
}

} // namespace

int main(int count, char **words)
{
	end_if_it_hangs(60);
	if (count > 1)
		divisor = std::atoi(words[1]);
	items /= divisor;
	bounded_buffer();
	any_lock();
	time_limits();
	both();
	others();
	exceptions();
	std::printf("locks=%lld try_locks=%lld timed_locks=%lld unlocks=%lld ", locks.load(), try_locks.load(),
		    timed_locks.load(), unlocks.load());
	std::printf("cond_waits=%lld cond_timed_waits=%lld ", waits.load(), timed_waits.load());
	std::printf("cond_signals=%lld cond_broadcasts=%lld ", signals.load(), broadcasts.load());
	std::printf("left_mutexes=%lld left_conds=0\n", left.load());
}
