// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
#include "locks.h"
