/* Start-up, traps, semihosting and measuring for RV32. The start must come first: the board jumps there. */
    .option arch, +zicsr

    .section .mote.vectors, "ax", @progbits
    .global mote_start
mote_start:
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la sp, mote_stack_top
    la tp, mote_tls             /* picolibc keeps errno in thread-local storage */
    la t0, mote_trap
    csrw mtvec, t0
    li t0, 0x2000               /* the FPU on, where there is one */
    csrs mstatus, t0
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
    la sp, mote_stack_top       /* the old stack may be what went wrong */
    call harness_fault

/* Three instructions of 4 bytes, which must lie in one page. */
    .section .text.mote_semihost, "ax", @progbits
    .balign 16
    .global mote_semihost
    .type mote_semihost, @function
mote_semihost:
    .option push
    .option norvc
    slli zero, zero, 0x1f
    ebreak
    srai zero, zero, 7
    .option pop
    ret

    function port_nothing
    ret

/* Always entered by a call, so the reading is always at the same place of a basic block. */
    function port_ticks
    li a0, MOTE_COUNTER
    lw a0, 0(a0)
    ret

/* Two marks, 2 instructions before, 3 after; called as a compiler calls them. */
    function port_two_marks
    addi sp, sp, -16
    sw ra, 12(sp)
    li a0, 0
    call mote_mark
    li a0, 0
    call mote_mark
    lw ra, 12(sp)
    addi sp, sp, 16
    ret

/* int mote_measured_call(int (*function)(void), struct port_run *run): paint all unused stack, then call
 * with a reading of the counter before and after. */
    function mote_measured_call
    addi sp, sp, -16
    sw ra, 12(sp)
    sw s0, 8(sp)
    sw s1, 4(sp)
    mv s0, a0
    mv s1, a1
    sw sp, 16(s1)               /* run->stack */
    la t0, mote_stack_bottom
    li t1, 0xA5C3A5C3
1:  sw t1, 0(t0)
    addi t0, t0, 4
    bltu t0, sp, 1b
    call port_ticks
    sw a0, 0(s1)                /* run->before */
    jalr s0
    mv s0, a0
    call port_ticks
    sw a0, 4(s1)                /* run->after */
    mv a0, s0
    lw ra, 12(sp)
    lw s0, 8(sp)
    lw s1, 4(sp)
    addi sp, sp, 16
    ret
