/* Reading the counter of an emulated board, for RV32: the harness alone has this. */
    .macro function name
    .section .text.\name, "ax", @progbits
    .balign 4
    .global \name
    .type \name, @function
\name:
    .endm

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
