// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
#include <mutex>

#include "locks.h"

/// What std::lock_guard and std::unique_lock ask for.
struct Twa {
	handover_twa words = HANDOVER_TWA_INIT;

	void lock() { handover_twa_lock(&words); }
	bool try_lock() { return handover_twa_try_lock(&words); }
	void unlock() { handover_twa_unlock(&words); }
};

/// Before main, a constant.
static Twa at_start;

static const bool is_guarded = [] {
	std::lock_guard<Twa> guard(at_start);
	return !std::unique_lock<Twa>(at_start, std::try_to_lock).owns_lock();
}();

static const bool is_checked = [] {
	CHECK(is_guarded && !handover_twa_is_locked(&at_start.words));
	return true;
}();
