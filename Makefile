# SPDX-License-Identifier: GPL-2.0-only
# The front door. Each goal is a script of the same name in scripts/, with three exceptions: run-kernel and bench-kernel
# are run and bench, and distclean is clean --all.
.DEFAULT_GOAL := help
goals := run-kernel run-alock sim-alock bench-kernel bench-rlock bench-user install module deb upstream check test mutants mutate test-deep study figures figures-twa clean distclean
.PHONY: help run bench $(goals)

# The groups of this list are the lines that begin with '##'.
help: # no entry of its own
	@sed -nE 's/^## (.*)/\n\1/p; s/^([a-z-]+):.*## (.*)/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16 | tail -n +2

## Try it
run-kernel: ## ticket, TWA and the kernel's spinlock in QEMU; also as `make run` (90 s, the first time longer)
	@scripts/run
run-alock: ## ALock beside an RDMA spinlock and RDMA MCS, on soft-RoCE nodes of a guest (4 min)
	@scripts/run-alock
sim-alock: ## the same on simulated clusters of 5, 10 and 20 nodes (2 min)
	@scripts/sim-alock
bench-kernel: ## an uncontended pair, and 1, 2, 4 writers, on two kernels; also as `make bench`
	@scripts/bench
bench-rlock: ## an increment by rlock and by others, and a cancellation
	@scripts/bench-rlock
bench-user: ## programs under glibc's mutex and under each lock, with parking threads: CPUS=, SECS= (10 min)
	@scripts/bench-user

## Use it
install: ## handover.h and libhandover-locks.a for C and C++: PREFIX=/usr/local, DESTDIR=, CARGO=cargo
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" CARGO="$(CARGO)" scripts/install
module: ## handover.ko for Debian's kernel that runs, or KVER=...; or against a build tree of 7.3: KDIR=...
	@KDIR="$(KDIR)" KVER="$(KVER)" scripts/module
deb: ## handover-dkms, a Debian package that has dkms build handover.ko for each kernel that can
	@scripts/deb
upstream: ## the locks as patches for the kernel's rust/kernel/sync, with a cover letter (10 s)
	@scripts/upstream

## Change it
check: ## formatting, lints, licences; warnings are errors
	@scripts/check
test: ## every check but test-deep's; ends with 'N passed, N failed' (20 to 35 min)
	@scripts/test
mutants: ## plants the bugs of a part, which its checks must find: PART=locks, NAME=... for one
	@scripts/mutants $(if $(NAME),$(if $(PART),$(PART)/$(NAME),$(NAME)),$(PART))
mutate: ## changes a part's code in every way cargo-mutants knows, which its tests must find: PART=... (hours)
	@scripts/mutate "$(PART)"
test-deep: ## what test has no time for: PART=models, kernel, planted-1 to planted-4, flavours, sanitizers, package, upstream, perf, locktorture, alock, host, user or nptl, each an hour at most; without PART all
	@scripts/test-deep $(PART)
study: ## counts what TWA does with its waiting array, by threshold and slots; no times (60 s)
	@scripts/study
figures: ## draws the results' figures again, from their tables
	@scripts/figures
figures-twa: ## the TWA paper's benchmarks on simulated CPUs: tables, verdicts and figures (5 min)
	@scripts/figures-twa

## Clean
clean: ## removes build/
	@scripts/clean
distclean: ## removes build/ and the cache that clones share
	@scripts/clean --all

run: run-kernel
bench: bench-kernel
