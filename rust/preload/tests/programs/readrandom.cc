// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
// LevelDB's readrandom, for as many gets or as long as the caller says.
//   readrandom DIR KEYS                             fills
//   readrandom DIR KEYS THREADS gets|seconds N      reads: N gets a thread, or N seconds
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <leveldb/db.h>
#include <leveldb/write_batch.h>

namespace {

void due(const leveldb::Status &status)
{
	if (status.ok())
		return;
	std::fprintf(stderr, "readrandom: %s\n", status.ToString().c_str());
	std::exit(1);
}

// As in LevelDB's own benchmark.
leveldb::Slice key(long number, char (&text)[32])
{
	return leveldb::Slice(text, std::snprintf(text, sizeof(text), "%016ld", number));
}

std::string value(long number)
{
	std::string text(100, 'a' + number % 26);
	return text.replace(0, 8, reinterpret_cast<const char *>(&number), 8);
}

void fill(leveldb::DB *db, long keys)
{
	char text[32];
	for (long from = 0; from < keys; from += 1000) {
		leveldb::WriteBatch batch;
		for (long number = from; number < keys && number < from + 1000; number++)
			batch.Put(key(number, text), value(number));
		due(db->Write(leveldb::WriteOptions(), &batch));
	}
	db->CompactRange(nullptr, nullptr);
}

bool get(leveldb::DB *db, long number)
{
	char text[32];
	std::string found;
	due(db->Get(leveldb::ReadOptions(), key(number, text), &found));
	return found == value(number);
}

} // namespace

int main(int count, char **words)
{
	if (count != 3 && count != 6) {
		std::fprintf(stderr, "readrandom: DIR KEYS [THREADS gets|seconds N]\n");
		return 2;
	}
	long keys = std::atol(words[2]);
	leveldb::Options options;
	options.create_if_missing = count == 3;
	leveldb::DB *db;
	due(leveldb::DB::Open(options, words[1], &db));
	if (count == 3) {
		fill(db, keys);
		delete db;
		return 0;
	}
	int all = std::atoi(words[3]);
	bool timed = !std::strcmp(words[4], "seconds");
	double amount = std::atof(words[5]);
	// All is in LevelDB's cache before the clock runs.
	for (long number = 0; number < keys; number++)
		if (!get(db, number))
			return 1;
	std::atomic<bool> stop{false}, go{false};
	std::atomic<long> gets{0}, wrong{0};
	std::vector<std::thread> threads;
	for (int thread = 0; thread < all; thread++)
		threads.emplace_back([&, thread] {
			std::mt19937 random(thread);
			std::uniform_int_distribution<long> any(0, keys - 1);
			long mine = 0;
			while (!go)
				std::this_thread::yield();
			while (timed ? !stop.load(std::memory_order_relaxed) : mine < amount) {
				wrong += !get(db, any(random));
				mine++;
			}
			gets += mine;
		});
	auto begin = std::chrono::steady_clock::now();
	go = true;
	if (timed) {
		std::this_thread::sleep_for(std::chrono::duration<double>(amount));
		stop = true;
	}
	for (auto &thread : threads)
		thread.join();
	std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
	std::printf("ops=%ld wrong=%ld seconds=%.6f\n", gets.load(), wrong.load(), took.count());
	delete db;
	return wrong != 0;
}
