/* Start-up, traps, semihosting and measuring for Cortex-M. Armv6-M instructions only, for all cores alike. */
    .syntax unified
    .thumb

    .section .mote.vectors, "a", %progbits
    .word mote_stack_top
    .word mote_start
    .rept 62
    .word mote_trap
    .endr

    .macro function name
    .section .text.\name, "ax", %progbits
    .balign 4
    .global \name
    .thumb_func
    .type \name, %function
\name:
    .endm

    .macro set_bits address, value, shift
    ldr r0, =\address
    ldr r1, [r0]
    movs r2, #\value
    lsls r2, r2, #\shift
    orrs r1, r2
    str r1, [r0]
    dsb
    isb
    .endm

    function mote_start
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
    set_bits 0xE000ED88, 0xF, 20    /* CPACR: full access to the FPU, which Helium is part of */
#endif
#if defined(__ARM_FEATURE_MVE)
    set_bits 0xE000ED14, 1, 19      /* CCR.LOB: low-overhead loops */
#endif
#if !defined(__ARM_FEATURE_UNALIGNED) || defined(MOTE_UNALIGN_TRP)
    set_bits 0xE000ED14, 1, 3       /* CCR.UNALIGN_TRP: Armv6-M always traps, the M3 that plays it only on demand */
#endif
    bl mote_boot
    .ltorg

    function mote_trap
    mrs r0, ipsr                /* the exception's number */
    mrs r2, msp
    ldr r1, [r2, #24]           /* the program counter that the exception has saved */
    ldr r2, =mote_stack_top     /* the old stack may be what went wrong */
    mov sp, r2
    bl harness_fault
    .ltorg

    function mote_semihost
    bkpt 0xAB
    bx lr

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
