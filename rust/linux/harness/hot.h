/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where spin/shim.c puts its two hot functions in this module. They and
 * uncontended.rs's loops share a page, whatever else the module grows to: under
 * emulation a call across pages costs more, see docs/results/kernel.md.
 */
#define HANDOVER_HOT __section(".text.handover")
#define HANDOVER_FIRST __aligned(PAGE_SIZE)
