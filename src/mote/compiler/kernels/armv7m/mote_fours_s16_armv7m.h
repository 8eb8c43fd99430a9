/* mote_fours_s16_armv7m.h: mote_fours_s16.h, which includes it, on cores with Thumb-2 and no DSP instructions. */
#ifndef MOTE_FOURS_S16_ARMV7M_H
#define MOTE_FOURS_S16_ARMV7M_H

#include "mote_compiler.h"

#if defined(__thumb2__) && defined(__ARM_ARCH_PROFILE) && defined(__GNUC__) && !defined(MOTE_PORTABLE)
#if __ARM_ARCH_PROFILE == 'M'

/* One input of four pixels, with a byte of r3: six instructions. */
#define MOTE_FOURS_S16_INPUT(byte) \
    "ldmia r0!, {r4-r7}\n" \
    "sxtb r12, r3, ror #" byte "\n" \
    "mla r8, r4, r12, r8\n" \
    "mla r9, r5, r12, r9\n" \
    "mla r10, r6, r12, r10\n" \
    "mla r11, r7, r12, r11\n"
#define MOTE_FOURS_S16_GROUP \
    "ldr r3, [r2], #4\n" \
    MOTE_FOURS_S16_INPUT("0") MOTE_FOURS_S16_INPUT("8") MOTE_FOURS_S16_INPUT("16") MOTE_FOURS_S16_INPUT("24")

/* r0: inputs, r1: their end, r2: weights, r8 to r11: sums. Two groups a turn, of which the first one is left out where
 * their number is odd. */
__attribute__((naked, noinline, unused, aligned(4))) static void mote_fours_s16(
    const int32_t *x __attribute__((unused)), const int32_t *end __attribute__((unused)),
    const int32_t *w __attribute__((unused)), int32_t *sums __attribute__((unused))) {
    __asm__ volatile(
        "push {r3-r11, lr}\n"
        "ldmia r3, {r8-r11}\n"
        "sub r4, r1, r0\n"
        "tst r4, #64\n"
        "bne 2f\n"
        "1:\n"
        MOTE_FOURS_S16_GROUP
        "2:\n"
        MOTE_FOURS_S16_GROUP
        "cmp r0, r1\n"
        "bne 1b\n"
        "pop {r3}\n"
        "stmia r3, {r8-r11}\n"
        "pop {r4-r11, pc}\n");
}
#define mote_fours_s16 mote_fours_s16

#endif
#endif

#endif
