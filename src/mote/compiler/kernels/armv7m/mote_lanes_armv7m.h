/* mote_lanes_armv7m.h: mote_lanes_s8.h on cores with Thumb-2 and no DSP instructions. */
#ifndef MOTE_LANES_ARMV7M_H
#define MOTE_LANES_ARMV7M_H

#include "mote_compiler.h"

#if defined(__ARM_ARCH_7M__) && defined(__GNUC__) && !defined(MOTE_PORTABLE)

#define MOTE_LANES_GROUP \
    "ldmia r1!, {r4, r5, r6}\n\t" \
    "ldmia r11!, {r7, r8, r9}\n\t" \
    "mla r4, r4, r7, r10\n\t" \
    "mla r4, r5, r8, r4\n\t" \
    "mla r4, r6, r9, r4\n\t" \
    "add r12, r12, r4\n\t" \
    "add lr, lr, r4, asr #16\n\t"
#define MOTE_LANES_ROUND_plain(sum) ""
#define MOTE_LANES_ROUND_halves(sum) \
    "add " sum ", " sum ", #1\n\t" \
    "asr " sum ", " sum ", #1\n\t" \
    "add " sum ", " sum ", " sum ", asr #31\n\t"
#define MOTE_LANES_SCALE(form, sum) \
    "lsl " sum ", " sum ", #2\n\t" \
    "smull r7, " sum ", " sum ", r4\n\t" MOTE_LANES_ROUND_##form(sum) \
    "add " sum ", " sum ", r5\n\t" \
    "asr " sum ", " sum ", r6\n\t" \
    "ssat " sum ", #8, " sum "\n\t"

/* Both bytes; the flags say whether windows are left. */
#define MOTE_LANES_STORE(form) \
    "ldr r7, [r0, #40]\n\t" \
    "sub r12, r12, lr, lsl #16\n\t" \
    "ldmia r7, {r4, r5, r6}\n\t" MOTE_LANES_SCALE(form, "r12") MOTE_LANES_SCALE(form, "lr") \
    "add r4, r0, #8\n\t" \
    "ldmia r4, {r5, r6, r7, r8}\n\t" \
    "strb r12, [r5]\n\t" \
    "strb lr, [r6]\n\t" \
    "add r5, r5, r8\n\t" \
    "add r6, r6, r8\n\t" \
    "subs r7, r7, #1\n\t" \
    "stmia r4, {r5, r6, r7}\n\t"

/* r1: words, r2: from a column to the next, r3: from a window to the next, r11: weights, r12: T, lr: H. */
#define MOTE_LANES_NINE_ARMV7M(form) \
    __attribute__((naked, noinline, unused, aligned(4))) static void mote_lanes_nine_##form##_full( \
        mote_lanes_windows_t *t __attribute__((unused))) { \
        __asm__ volatile( \
            "push {r4-r11, lr}\n\t" \
            "ldrd r1, r11, [r0]\n\t" \
            "ldrd r3, r2, [r0, #24]\n\t" \
            "sub r3, r3, r2, lsl #1\n\t" \
            "sub r3, r3, #36\n\t" \
            "movw r10, #0x8000\n" \
            "1:\n\t" \
            "ldrd r12, lr, [r0, #32]\n\t" MOTE_LANES_GROUP "add r1, r1, r2\n\t" MOTE_LANES_GROUP \
            "add r1, r1, r2\n\t" MOTE_LANES_GROUP "sub r11, r11, #36\n\t" \
            "ldr r9, [r0, #44]\n\t" \
            "ldrsh r6, [r9], #2\n\t" \
            "cbz r6, 3f\n\t" \
            "sub r7, r1, #36\n\t" \
            "sub r7, r7, r2, lsl #1\n" \
            "2:\n\t" \
            "ldrsh r4, [r9], #2\n\t" \
            "ldrsh r5, [r9], #2\n\t" \
            "ldr r4, [r7, r4]\n\t" \
            "subs r6, r6, #1\n\t" \
            "mul r4, r4, r5\n\t" \
            "add r12, r12, r4\n\t" \
            "add r4, r4, r10\n\t" \
            "add lr, lr, r4, asr #16\n\t" \
            "bne 2b\n" \
            "3:\n\t" \
            "add r1, r1, r3\n\t" MOTE_LANES_STORE(form) \
            "bne 1b\n\t" \
            "pop {r4-r11, pc}\n\t"); \
    }

/* Columns of several groups; r3: columns that are left. */
#define MOTE_LANES_COLUMNS_ARMV7M(name, form, column) \
    __attribute__((naked, noinline, unused, aligned(4))) static void mote_lanes_##name##_##form##_full( \
        mote_lanes_windows_t *t __attribute__((unused))) { \
        __asm__ volatile( \
            "push {r4-r11, lr}\n\t" \
            "ldr r2, [r0, #28]\n\t" \
            "movw r10, #0x8000\n" \
            "1:\n\t" \
            "ldrd r1, r11, [r0]\n\t" \
            "ldrd r12, lr, [r0, #32]\n\t" \
            "ldr r3, [r0, #48]\n" \
            "4:\n\t" column "subs r3, r3, #1\n\t" \
            "add r1, r1, r2\n\t" \
            "bne 4b\n\t" \
            "ldr r9, [r0, #44]\n\t" \
            "ldr r7, [r0]\n\t" \
            "ldrsh r6, [r9], #2\n\t" \
            "cbz r6, 3f\n" \
            "2:\n\t" \
            "ldrsh r4, [r9], #2\n\t" \
            "ldrsh r5, [r9], #2\n\t" \
            "ldr r4, [r7, r4]\n\t" \
            "subs r6, r6, #1\n\t" \
            "mul r4, r4, r5\n\t" \
            "add r12, r12, r4\n\t" \
            "add r4, r4, r10\n\t" \
            "add lr, lr, r4, asr #16\n\t" \
            "bne 2b\n" \
            "3:\n\t" \
            "ldr r8, [r0, #24]\n\t" \
            "add r7, r7, r8\n\t" \
            "str r7, [r0]\n\t" MOTE_LANES_STORE(form) \
            "bne 1b\n\t" \
            "pop {r4-r11, pc}\n\t"); \
    }

MOTE_LANES_NINE_ARMV7M(plain)
MOTE_LANES_NINE_ARMV7M(halves)
MOTE_LANES_COLUMNS_ARMV7M(twos, plain, MOTE_LANES_GROUP MOTE_LANES_GROUP)
MOTE_LANES_COLUMNS_ARMV7M(twos, halves, MOTE_LANES_GROUP MOTE_LANES_GROUP)
MOTE_LANES_COLUMNS_ARMV7M(threes, plain, MOTE_LANES_GROUP MOTE_LANES_GROUP MOTE_LANES_GROUP)
MOTE_LANES_COLUMNS_ARMV7M(threes, halves, MOTE_LANES_GROUP MOTE_LANES_GROUP MOTE_LANES_GROUP)
#define mote_lanes_nine_plain_full mote_lanes_nine_plain_full
#define mote_lanes_nine_halves_full mote_lanes_nine_halves_full
#define mote_lanes_twos_plain_full mote_lanes_twos_plain_full
#define mote_lanes_twos_halves_full mote_lanes_twos_halves_full

#endif

#endif
