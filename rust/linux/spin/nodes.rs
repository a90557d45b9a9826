// SPDX-License-Identifier: GPL-2.0-only

//! The kernel's nodes of queue locks: some of each CPU's.

use super::word::{Linux, Word};
use crate::locks::{Node, Nodes, Pool};

/// How many nodes a CPU has.
///
/// Unlike qspinlock's four they are held until `unlock`. A node of CLH stays in use after that, until the
/// next owner has seen that it owns the lock. A CPU all of whose nodes are in use takes the next lock
/// without a place in its queue.
///
/// They are static per-CPU data, of which x86-64 has 8 KiB for all modules (`PERCPU_MODULE_RESERVE`).
pub(crate) const NODES_PER_CPU: usize = 16;

// What `Nodes::take` promises of an index.
const _: () = assert!(NODES_PER_CPU * (kernel::bindings::NR_CPUS as usize) < 1 << 23);

/// The nodes of a CPU.
pub(crate) type CpuNodes = Pool<Word, NODES_PER_CPU>;

/// Every CPU's nodes, all of them free: a per-CPU variable, as `DEFINE_PER_CPU()` makes one of a module.
/// At this address itself there is none.
#[cfg_attr(CONFIG_SMP, link_section = ".data..percpu")]
static NODES: CpuNodes = CpuNodes::new(
    Word::new(CpuNodes::ALL),
    [const { Node::new(Word::new(0), Word::new(0)) }; NODES_PER_CPU],
);

/// Where the compiler makes a call of every per-CPU access in C, on x86-64 the instructions are
/// written here.
#[cfg(all(CONFIG_X86_64, CONFIG_SMP))]
mod imp {
    use super::{CpuNodes, NODES};
    use core::arch::asm;
    use kernel::bindings;

    /// The nodes of `cpu`: `per_cpu_ptr()`.
    ///
    /// # Safety
    ///
    /// `cpu` is possible.
    #[inline(always)]
    pub(super) unsafe fn of_cpu(cpu: u32) -> &'static CpuNodes {
        let base = (&raw const NODES).expose_provenance();
        // SAFETY: `cpu` is possible, by this function's contract. So its offset is there, and its area is mapped and was filled
        // from the module's section. It stays as long as the module. Words alone change in it.
        unsafe {
            let offsets = (&raw const bindings::__per_cpu_offset).cast::<usize>();
            let offset = offsets.add(cpu as usize).read();
            &*core::ptr::with_exposed_provenance(base.wrapping_add(offset))
        }
    }

    /// The calling CPU: `raw_smp_processor_id()`.
    #[inline(always)]
    pub(super) fn this_cpu() -> u32 {
        let cpu;
        // SAFETY: the variable is there on every CPU, and never written after the CPU came up.
        unsafe {
            asm!("mov {cpu:e}, dword ptr gs:[rip + {number}]",
                 cpu = lateout(reg) cpu, number = sym bindings::cpu_number,
                 options(nostack, preserves_flags, readonly));
        }
        cpu
    }
}

#[cfg(not(all(CONFIG_X86_64, CONFIG_SMP)))]
mod imp {
    use super::{super::shim, CpuNodes, NODES};

    /// The nodes of `cpu`.
    ///
    /// # Safety
    ///
    /// `cpu` is possible.
    #[inline(always)]
    pub(super) unsafe fn of_cpu(cpu: u32) -> &'static CpuNodes {
        // SAFETY: `cpu` is possible, by this function's contract, and its area stays as long as the module. Words alone change
        // in it.
        unsafe { &*shim::handover_per_cpu((&raw const NODES).cast(), cpu).cast() }
    }

    /// The calling CPU.
    #[inline(always)]
    pub(super) fn this_cpu() -> u32 {
        // SAFETY: it may be called anywhere.
        unsafe { shim::handover_this_cpu() }
    }
}

/// A node's index is one more than its number among all CPUs' nodes: 0 is none.
///
/// Interrupts may come between any two steps here: a pool's steps are atomic. The caller keeps
/// preemption off, but a thread that came to another CPU meanwhile would only take that one's node.
impl Nodes for Linux {
    #[inline(always)]
    fn take(&self) -> Option<u32> {
        let cpu = imp::this_cpu();
        // SAFETY: A CPU that runs is possible.
        let number = unsafe { of_cpu(cpu) }.take()?;
        // Wrapping, so that no panic path lies here. It never wraps, as is asserted above.
        let first = cpu.wrapping_mul(NODES_PER_CPU as u32);
        Some(first.wrapping_add(number).wrapping_add(1))
    }

    #[inline(always)]
    fn put(&self, node: u32) {
        let (cpu, number) = split(node);
        // SAFETY: The node is one that `take` returned, by the contract of `Linux::new`.
        unsafe { of_cpu(cpu) }.put(number);
    }

    #[inline(always)]
    fn node(&self, node: u32) -> &Node<Word> {
        let (cpu, number) = split(node);
        // SAFETY: As in `put`.
        unsafe { of_cpu(cpu) }.node(number)
    }
}

/// The nodes of `cpu`.
///
/// # Safety
///
/// `cpu` is possible.
#[inline(always)]
pub(crate) unsafe fn of_cpu(cpu: u32) -> &'static CpuNodes {
    // SAFETY: By this function's contract.
    unsafe { imp::of_cpu(cpu) }
}

/// The CPU of a node, and its number there.
#[inline(always)]
fn split(node: u32) -> (u32, u32) {
    let node = node.wrapping_sub(1);
    (node / NODES_PER_CPU as u32, node % NODES_PER_CPU as u32)
}
