/* Start-up, traps and semihosting for RV32. The start must come first: the board jumps there. MOTE_HARNESS leaves out
 * what only a part needs. MOTE_MAILBOX is the address where a core in RTL calls the host: such a core begins 128 bytes
 * behind its traps, and need not have the registers that a machine has for both. */
    .option arch, +zicsr

    .section .mote.vectors, "ax", @progbits
    .global mote_start
#if defined(MOTE_MAILBOX)
    j mote_trap
    .balign 128
#endif
mote_start:
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la sp, mote_stack_top
    la tp, mote_tls             /* picolibc keeps errno in thread-local storage */
#if !defined(MOTE_MAILBOX)
    la t0, mote_trap
    csrw mtvec, t0
    li t0, 0x2200               /* the FPU and the vectors on, where there are */
    csrs mstatus, t0
#endif
    call mote_boot

    .macro function name
    .section .text.\name, "ax", @progbits
    .balign 4
    .global \name
    .type \name, @function
\name:
    .endm

    function mote_trap
    csrr a0, mcause
    csrr a1, mepc
#if !defined(MOTE_HARNESS)
    la t0, mote_breakpoint
    beq a1, t0, mote_nobody
#endif
    la sp, mote_stack_top       /* the old stack may be what went wrong */
    call mote_fault

#if !defined(MOTE_HARNESS)
/* No debugger answers: a semihosting call returns -1. It is a call, so that temporary registers are free. */
mote_nobody:
    addi a1, a1, 4
    csrw mepc, a1
    li a0, -1
    mret
#endif

/* Three instructions of 4 bytes, which must lie in one page. */
    .section .text.mote_semihost, "ax", @progbits
    .balign 16
    .global mote_semihost
    .type mote_semihost, @function
mote_semihost:
#if defined(MOTE_MAILBOX)
    li t0, MOTE_MAILBOX
    sw a0, 0(t0)                /* operation */
    sw a1, 4(t0)                /* block; the host acts on it */
    lw a0, 8(t0)                /* answer */
    ret
#else
    .option push
    .option norvc
    slli zero, zero, 0x1f
mote_breakpoint:
    ebreak
    srai zero, zero, 7
    .option pop
    ret
#endif
