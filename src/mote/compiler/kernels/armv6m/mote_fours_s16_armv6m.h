/* mote_fours_s16_armv6m.h: mote_fours_s16.h, which includes it, on cores with 16-bit instructions only. */
#ifndef MOTE_FOURS_S16_ARMV6M_H
#define MOTE_FOURS_S16_ARMV6M_H

#include "mote_compiler.h"

#if defined(__thumb__) && !defined(__thumb2__) && defined(__ARM_ARCH_PROFILE) && defined(__GNUC__) && \
    !defined(MOTE_PORTABLE)
#if __ARM_ARCH_PROFILE == 'M'

/* One input of four pixels, with the lowest byte of r2: 14 cycles. */
#define MOTE_FOURS_S16_INPUT \
    "sxtb r3, r2\n" \
    "ldmia r0!, {r4-r7}\n" \
    "muls r4, r3, r4\n" \
    "muls r5, r3, r5\n" \
    "muls r6, r3, r6\n" \
    "muls r7, r3, r7\n" \
    "add r8, r8, r4\n" \
    "add r9, r9, r5\n" \
    "add r10, r10, r6\n" \
    "add r11, r11, r7\n"

/* r0: inputs, r12: their end, r1: weights, r8 to r11: sums. */
__attribute__((naked, noinline, unused, aligned(4))) static void mote_fours_s16(
    const int32_t *x __attribute__((unused)), const int32_t *end __attribute__((unused)),
    const int32_t *w __attribute__((unused)), int32_t *sums __attribute__((unused))) {
    __asm__ volatile(
        ".syntax unified\n"
        "push {r4-r7, lr}\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r10\n"
        "mov r7, r11\n"
        "push {r3-r7}\n"
        "mov r12, r1\n"
        "movs r1, r2\n"
        "ldmia r3!, {r4-r7}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r6\n"
        "mov r11, r7\n"
        "1:\n"
        "ldmia r1!, {r2}\n"
        MOTE_FOURS_S16_INPUT
        "lsrs r2, r2, #8\n"
        MOTE_FOURS_S16_INPUT
        "lsrs r2, r2, #8\n"
        MOTE_FOURS_S16_INPUT
        "lsrs r2, r2, #8\n"
        MOTE_FOURS_S16_INPUT
        "cmp r0, r12\n"
        "bne 1b\n"
        "pop {r0}\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r10\n"
        "mov r7, r11\n"
        "stmia r0!, {r4-r7}\n"
        "pop {r4-r7}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r6\n"
        "mov r11, r7\n"
        "pop {r4-r7, pc}\n");
}
#define mote_fours_s16 mote_fours_s16

#endif
#endif

#endif
