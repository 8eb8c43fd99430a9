/* Reading the counter of the emulated core, for the LX106: the harness alone has this. */
    .macro function name
    .section .text.\name, "ax", @progbits
    .literal_position
    .balign 4
    .global \name
    .type \name, @function
\name:
    .endm

    function port_nothing
    ret

/* Always entered by a call, so the reading is always at the same place of a basic block. */
    function port_ticks
    rsr a2, ccount
    ret

/* Two marks, 2 instructions before, 3 after; called as a compiler calls them. */
    function port_two_marks
    addi a1, a1, -16
    s32i a0, a1, 12
    movi a2, 0
    call0 mote_mark
    movi a2, 0
    call0 mote_mark
    l32i a0, a1, 12
    addi a1, a1, 16
    ret

/* int mote_measured_call(int (*function)(void), struct port_run *run): paint all unused stack, then call with a reading of
 * the counter before and after. */
    function mote_measured_call
    addi a1, a1, -16
    s32i a0, a1, 12
    s32i a12, a1, 8
    s32i a13, a1, 4
    mov a12, a2
    mov a13, a3
    s32i a1, a13, 16            /* run->stack */
    movi a4, mote_stack_bottom
    movi a5, 0xA5C3A5C3
1:  s32i a5, a4, 0
    addi a4, a4, 4
    bltu a4, a1, 1b
    call0 port_ticks
    s32i a2, a13, 0             /* run->before */
    callx0 a12
    mov a12, a2
    call0 port_ticks
    s32i a2, a13, 4             /* run->after */
    mov a2, a12
    l32i a0, a1, 12
    l32i a12, a1, 8
    l32i a13, a1, 4
    addi a1, a1, 16
    ret
