# SPDX-License-Identifier: GPL-2.0
# The front door. Each goal is a script of the same name in scripts/.
.DEFAULT_GOAL := help
.PHONY: help run run-alock sim-alock test test-deep module check bench bench-rlock clean distclean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: ## ticket, TWA and the kernel's own spinlock on a distribution kernel in QEMU
	@scripts/run

run-alock: ## ALock and two locks that need loopback, on soft-RoCE nodes of a guest
	@scripts/run-alock

sim-alock: ## the same, nothing under the lock, on simulated clusters of 5, 10 and 20 nodes, in virtual time
	@scripts/sim-alock

test: ## the checks (but for test-deep's): minutes, once the two kernels it needs are built; ends with 'N passed, N failed'
	@scripts/test

test-deep: ## make test, then other jobs on the stock kernel, short runs of run-alock, KUnit ten times, rlock's stress for longer and its ThreadSanitizer, TLC on ALock, ALock's mutants that need a device
	@scripts/test --deep

module: ## handover.ko against a kernel build tree with Rust, 7.2 or 7.3: KDIR=...
	@scripts/build-module "$(KDIR)"

check: ## formatting, lints, checkpatch, shellcheck; warnings are errors
	@scripts/check

bench: ## what an uncontended pair costs, and 1, 2, 4 writers, on both kernels
	@scripts/bench

bench-rlock: ## what an increment costs by rlock and by others, and a cancellation
	@scripts/bench-rlock

clean: ## removes build/
	@scripts/clean

distclean: ## removes build/ and the cache that clones share
	@scripts/clean --all
