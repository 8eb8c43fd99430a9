/* Reading the counter of an emulated board, for Cortex-M: the harness alone has this. */
    .syntax unified
    .thumb

    .macro function name
    .section .text.\name, "ax", %progbits
    .balign 4
    .global \name
    .thumb_func
    .type \name, %function
\name:
    .endm

    function port_nothing
    bx lr

/* Always entered by a call, so the reading is always at the same place of a basic block. */
    function port_ticks
    ldr r0, =MOTE_COUNTER
    ldr r0, [r0]
    bx lr
    .ltorg

/* Two marks, 1 instruction before, 1 after. */
    function port_two_marks
    push {r4, lr}
    movs r0, #0
    bl mote_mark
    movs r0, #0
    bl mote_mark
    pop {r4, pc}

/* int mote_measured_call(int (*function)(void), struct port_run *run): paint all unused stack, then call
 * with a reading of the counter before and after. */
    function mote_measured_call
    push {r4, r5, r6, lr}
    mov r4, r0
    mov r5, r1
    mov r6, sp
    str r6, [r5, #16]           /* run->stack */
    ldr r0, =mote_stack_bottom
    ldr r1, =0xA5C3A5C3
1:  str r1, [r0]
    adds r0, r0, #4
    cmp r0, r6
    blo 1b
    bl port_ticks
    str r0, [r5, #0]            /* run->before */
    blx r4
    mov r6, r0
    bl port_ticks
    str r0, [r5, #4]            /* run->after */
    mov r0, r6
    pop {r4, r5, r6, pc}
    .ltorg
