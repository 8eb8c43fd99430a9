/* Start-up, traps and semihosting for Cortex-M. Armv6-M instructions only, for all cores alike.
 * MOTE_HARNESS leaves out what only a part needs: the measuring harness is started by an emulator, and its size is where
 * the measured code begins. */
    .syntax unified
    .thumb

    .section .mote.vectors, "a", %progbits
    .global mote_vectors
mote_vectors:
    .word mote_stack_top
    .word mote_start
    .rept 13
    .word mote_trap
    .endr
    .word mote_systick
    .rept 48
    .word mote_trap
    .endr
    .weak mote_systick
    .thumb_set mote_systick, mote_trap

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
#if !defined(MOTE_HARNESS)
    ldr r0, =mote_stack_top         /* a boot loader may have jumped here, with a stack and vectors of its own */
    mov sp, r0
    ldr r0, =0xE000ED08             /* VTOR */
    ldr r1, =mote_vectors
    str r1, [r0]
#endif
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
#if !defined(MOTE_HARNESS)
    ldr r3, =mote_breakpoint
    cmp r1, r3
    beq mote_nobody
#endif
    ldr r2, =mote_stack_top     /* the old stack may be what went wrong */
    mov sp, r2
    bl mote_fault
#if !defined(MOTE_HARNESS)
/* No debugger answers: a semihosting call returns -1. */
mote_nobody:
    adds r1, r1, #2
    str r1, [r2, #24]
    movs r1, #0
    mvns r1, r1
    str r1, [r2]
    bx lr
#endif
    .ltorg

    function mote_semihost
mote_breakpoint:
    bkpt 0xAB
    bx lr
