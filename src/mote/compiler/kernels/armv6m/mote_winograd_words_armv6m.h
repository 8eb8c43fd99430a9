/* mote_winograd_words_armv6m.h: mote_winograd_words.h on cores with 16-bit instructions only. */
#ifndef MOTE_WINOGRAD_WORDS_ARMV6M_H
#define MOTE_WINOGRAD_WORDS_ARMV6M_H

#include "mote_compiler.h"

#if defined(__thumb__) && !defined(__thumb2__) && defined(__ARM_ARCH_PROFILE) && defined(__GNUC__) && \
    !defined(MOTE_PORTABLE)
#if __ARM_ARCH_PROFILE == 'M'
/* `text` is assembly that was made for the number of input channels. */
#define MOTE_WINOGRAD_WORDS_CODE(id, tiles, lanes, text) \
    __attribute__((naked, noinline, unused, aligned(4))) static const int16_t *mote_winograd_words_##id##_products( \
        const uint32_t *v __attribute__((unused)), const int16_t *u __attribute__((unused)), \
        uint32_t *m __attribute__((unused)), int32_t depth __attribute__((unused))) { \
        __asm__ volatile(text); \
    }

/* The outputs of one channel of a tile, 25 cycles each. r2 to r6: most, coarse, fine, add, drop; r8: sums, r9: the inverse
 * of nine, r10: the bias, r11: where the next output goes, r12: from one to the next, lr: where a row of sums ends. On the
 * stack: rows, bytes of a row of outputs and of its sums, where the row begins; turn and fix. */
#define MOTE_WINOGRAD_WORDS_BYTES(form, turn, fix) \
    __attribute__((naked, noinline, unused, aligned(4))) static void mote_winograd_words_bytes_##form( \
        const uint32_t *y __attribute__((unused)), const mote_winograd_words_to_t *t __attribute__((unused)), \
        int8_t *out __attribute__((unused))) { \
        __asm__ volatile( \
            ".syntax unified\n" \
            "push {r4-r7, lr}\n" \
            "mov r4, r8\n" \
            "mov r5, r9\n" \
            "mov r6, r10\n" \
            "mov r7, r11\n" \
            "push {r4-r7}\n" \
            "sub sp, sp, #24\n" \
            "mov r8, r0\n" \
            "str r2, [sp, #12]\n" \
            "movs r7, r1\n" \
            "adds r7, r7, #12\n" \
            "ldmia r7!, {r3-r6}\n" \
            "str r3, [sp]\n" \
            "str r5, [sp, #4]\n" \
            "lsls r4, r4, #2\n" \
            "str r4, [sp, #8]\n" \
            "mov r12, r6\n" \
            "movs r3, #0x38\n" \
            "lsls r3, r3, #8\n" \
            "adds r3, r3, #0xE3\n" \
            "lsls r3, r3, #8\n" \
            "adds r3, r3, #0x8E\n" \
            "lsls r3, r3, #8\n" \
            "adds r3, r3, #0x39\n" \
            "mov r9, r3\n" \
            "ldr r7, [r1]\n" \
            "subs r7, r7, #4\n" \
            "ldmia r7!, {r3}\n" \
            "mov r10, r3\n" \
            "ldmia r7!, {r2-r6}\n" \
            turn \
            "1:\n" \
            "ldr r7, [sp, #8]\n" \
            "add r7, r8\n" \
            "mov lr, r7\n" \
            "ldr r7, [sp, #12]\n" \
            "mov r11, r7\n" \
            "2:\n" \
            "mov r7, r8\n" \
            "ldmia r7!, {r0}\n" \
            "mov r8, r7\n" \
            "mov r1, r9\n" \
            "muls r0, r1, r0\n" \
            "asrs r0, r0, #6\n" \
            "add r0, r10\n" \
            "cmp r0, r2\n" \
            "bls 3f\n" \
            "asrs r1, r0, #31\n" \
            "mov r0, r2\n" \
            "bics r0, r0, r1\n" \
            "3:\n" \
            "movs r1, r0\n" \
            "muls r1, r4, r1\n" \
            "lsrs r1, r1, r6\n" \
            fix \
            "muls r0, r3, r0\n" \
            "adds r0, r0, r1\n" \
            "adds r0, r0, r5\n" \
            "lsrs r0, r0, #24\n" \
            "mov r7, r11\n" \
            "strb r0, [r7]\n" \
            "add r11, r12\n" \
            "cmp r8, lr\n" \
            "bne 2b\n" \
            "ldr r0, [sp]\n" \
            "subs r0, r0, #1\n" \
            "beq 5f\n" \
            "str r0, [sp]\n" \
            "ldr r0, [sp, #12]\n" \
            "ldr r1, [sp, #4]\n" \
            "adds r0, r0, r1\n" \
            "str r0, [sp, #12]\n" \
            "movs r0, #24\n" \
            "ldr r1, [sp, #8]\n" \
            "subs r0, r0, r1\n" \
            "add r8, r0\n" \
            "b 1b\n" \
            "5:\n" \
            "add sp, sp, #24\n" \
            "pop {r4-r7}\n" \
            "mov r8, r4\n" \
            "mov r9, r5\n" \
            "mov r10, r6\n" \
            "mov r11, r7\n" \
            "pop {r4-r7, pc}\n"); \
    }
#define MOTE_WINOGRAD_WORDS_TURN "ldmia r7!, {r0, r1}\nstr r0, [sp, #16]\nstr r1, [sp, #20]\n"
#define MOTE_WINOGRAD_WORDS_FIX \
    "ldr r7, [sp, #16]\ncmp r0, r7\nblo 4f\nldr r7, [sp, #20]\nadds r1, r1, r7\n4:\n"
MOTE_WINOGRAD_WORDS_BYTES(short, "", "")
MOTE_WINOGRAD_WORDS_BYTES(short_halves, MOTE_WINOGRAD_WORDS_TURN, MOTE_WINOGRAD_WORDS_FIX)
#define MOTE_WINOGRAD_WORDS_BYTES_short(y, t, out) mote_winograd_words_bytes_short(y, t, out)
#define MOTE_WINOGRAD_WORDS_BYTES_short_halves(y, t, out) mote_winograd_words_bytes_short_halves(y, t, out)
#endif
#endif

#endif
