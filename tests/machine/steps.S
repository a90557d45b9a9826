/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * What scripts/report/machine.py must see of a function's code. Above each function stand its steps, as `steps:`, and
 * what it may call, as `calls:`. A lock is in %rsi.
 */
	.data
	.balign 64
	.globl a4spin4word10WAIT_ARRAY, a4spin5nodes5NODES
a4spin4word10WAIT_ARRAY:
	.zero 4 * 4096
	.section .data..percpu, "aw"
	.balign 64
a4spin5nodes5NODES:
	.zero 64 * 17

.macro function name
	.text
	.globl \name
	.type \name, @function
\name:
.endm
.macro end name
	.size \name, . - \name
.endm

/* steps: load lock+0, store lock+4 */
/* calls: */
function plain
	movl (%rsi), %eax
	movl %eax, 4(%rsi)
	ret
end plain

/* steps: rmw lock+0 */
/* calls: */
function plain_rmw
	addl $1, (%rsi)
	ret
end plain_rmw

/* steps: xadd lock+0, cmpxchg lock+4, xchg lock+0, add lock+4 */
/* calls: */
function locked
	lock xaddl %eax, (%rsi)
	lock cmpxchgl %ecx, 4(%rsi)
	xchgl %eax, (%rsi)
	lock addl $1, 4(%rsi)
	ret
end locked

/* steps: or elsewhere, mfence, pause */
/* calls: */
function elsewhere
	lock orl $0, -8(%rsp)
	mfence
	pause
	/* No access of a lock's, and registers alone. */
	movl %eax, -16(%rsp)
	xchgl %eax, %ecx
	ret
end elsewhere

/* steps: load lock+0:1, store lock+1:1, load lock+0:8 */
/* calls: */
function sizes
	movb (%rsi), %al
	movb %al, 1(%rsi)
	movq (%rsi), %rax
	ret
end sizes

/* steps: inc slot, inc slot, load slot, store slot */
/* calls: */
function slots
	leaq a4spin4word10WAIT_ARRAY(%rip), %rdx
	lock addl $1, 64(%rdx)
	movl $1, %eax
	lock xaddl %eax, 64(%rdx)
	movl 64(%rdx), %eax
	movl %eax, 64(%rdx)
	ret
end slots

/* steps: call of_the_kernel, load lock+0 */
/* calls: of_the_kernel, at_the_end, never_reached */
function calls
	call of_the_kernel
	movl (%rsi), %eax
	testl %eax, %eax
	jne 1f
	ret
1:	jmp jumps
end calls

/* steps: call at_the_end */
/* calls: at_the_end, never_reached */
function jumps
	xorl %eax, %eax
	jne never_reached
	jmp at_the_end
end jumps

/* steps: call spin_of_the_kernel(lock), call spin_of_the_kernel */
/* calls: spin_of_the_kernel */
function first_argument
	movq %rsi, %rdi
	call spin_of_the_kernel
	leaq 4(%rsi), %rdi
	call spin_of_the_kernel
	ret
end first_argument

/* steps: call of_the_kernel */
/* calls: what a register names */
function by_register
	leaq of_the_kernel(%rip), %rax
	jmp *%rax
end by_register
