/* mote_swar_armv7m.h: mote_swar.h on cores with Thumb-2 and no DSP instructions. */
#ifndef MOTE_SWAR_ARMV7M_H
#define MOTE_SWAR_ARMV7M_H

#include "mote_compiler.h"

/* Their code loads words from any address, see mote_dsp.h. */
#if defined(__thumb2__) && defined(__ARM_ARCH_PROFILE) && defined(__GNUC__) && !defined(MOTE_PORTABLE) && \
    (defined(__ARM_FEATURE_UNALIGNED) || MOTE_WORDS_ALIGNED)
#if __ARM_ARCH_PROFILE == 'M'

/* 28 instructions for the 16 inputs of a group of four pixels. */
__attribute__((naked, noinline, unused, aligned(4))) static void mote_swar_spread4(
    const int8_t *from __attribute__((unused)), int32_t step __attribute__((unused)),
    int32_t groups __attribute__((unused)), uint32_t *to __attribute__((unused))) {
    __asm__ volatile(
        "push {r4-r7, r11, lr}\n"
        "mov r11, #0x00FF00FF\n"
        "add r12, r0, r1, lsl #1\n"
        "add lr, r12, r1\n"
        "add r1, r0, r1\n"
        "1:\n"
#define MOTE_SWAR_TWO(first, second) \
        "ldr r4, [" first "], #4\n" \
        "ldr r5, [" second "], #4\n" \
        "eor r4, r4, #0x80808080\n" \
        "eor r5, r5, #0x80808080\n" \
        "and r6, r11, r4, lsr #8\n" \
        "and r7, r11, r5, lsr #8\n" \
        "and r4, r4, r11\n" \
        "and r5, r5, r11\n" \
        "sub r4, r4, #0x00800080\n" \
        "sub r5, r5, #0x00800080\n" \
        "sub r6, r6, #0x00800080\n" \
        "sub r7, r7, #0x00800080\n" \
        "stmia r3!, {r4-r7}\n"
        MOTE_SWAR_TWO("r0", "r1")
        MOTE_SWAR_TWO("r12", "lr")
#undef MOTE_SWAR_TWO
        "subs r2, r2, #1\n"
        "bne 1b\n"
        "pop {r4-r7, r11, pc}\n");
}
#define mote_swar_spread4 mote_swar_spread4

#if defined(__ARM_FEATURE_UNALIGNED)
static inline void mote_swar_copy(const int8_t *from, int32_t count, int8_t *to) {
    for (; count > 3; count -= 4, from += 4, to += 4) {
        __builtin_memcpy(to, from, 4);
        MOTE_MOVED(to);
    }
    for (; count > 0; count--) {
        *to++ = *from++;
        MOTE_MOVED(to);
    }
}
#define mote_swar_copy mote_swar_copy
#endif

MOTE_NOINLINE MOTE_HOT void mote_swar_spread(const int8_t *from, int32_t groups, uint32_t *to) {
    for (; groups > 0; groups--, from += 4, to += 8) {
        uint32_t x;
        __builtin_memcpy(&x, from, 4);
        x ^= 0x80808080u;
        to[0] = (x & 0x00FF00FFu) - 0x00800080u;
        to[2] = (x >> 8 & 0x00FF00FFu) - 0x00800080u;
    }
}
#define mote_swar_spread mote_swar_spread

/* Half of a group, two pixels; a group has 54 bytes. */
#define MOTE_SWAR_HALF(first, second) \
    "ldmia r0!, {r4-r7}\n" \
    "mla r4, r4, r2, r12\n" \
    "mla r5, r5, r2, r12\n" \
    "mla r4, r6, r3, r4\n" \
    "mla r5, r7, r3, r5\n" \
    "add " first ", " first ", r4, asr #16\n" \
    "add " second ", " second ", r5, asr #16\n"
#define MOTE_SWAR_GROUP \
    "ldmia r1!, {r2, r3}\n" \
    MOTE_SWAR_HALF("r8", "r9") \
    MOTE_SWAR_HALF("r10", "r11")
#define MOTE_SWAR_LEFT(first, second, at) \
    "ldrd r5, r6, [r3, #" at "]\n" \
    "mla r5, r5, r4, r12\n" \
    "mla r6, r6, r4, r12\n" \
    "add " first ", " first ", r5, asr #16\n" \
    "add " second ", " second ", r6, asr #16\n"
#define MOTE_SWAR_EACH(of) of("r8") of("r9") of("r10") of("r11")
#define MOTE_SWAR_PRODUCT(x) "smull r0, " x ", " x ", r2\n"
#define MOTE_SWAR_SIGNED(x) \
    "and r6, r5, " x ", asr #31\n" \
    "lsl " x ", " x ", #2\n" \
    "smull r0, " x ", " x ", r2\n" \
    "sub " x ", " x ", r6\n"
#define MOTE_SWAR_ROUND(x) \
    "add " x ", " x ", r3\n" \
    "asr " x ", " x ", r4\n" \
    "ssat " x ", #8, " x "\n"

/* r0: inputs, r1: stream, r2 and r3: weights, r8 to r11: sums, r12: half of 2^16, lr: the end of the inputs. On the
 * stack: inputs, where the loop is entered, channels left, and four pointers to outputs. The loop does eight groups; it
 * is entered in the middle where their number is no multiple of that. */
#define MOTE_SWAR_CODE(form, constants, products) \
    __attribute__((naked, noinline, unused, aligned(4))) static void mote_swar_##form( \
        const mote_swar_frame_t *f __attribute__((unused))) { \
        __asm__ volatile( \
            "push {r4-r11, lr}\n" \
            "sub sp, sp, #28\n" \
            "ldmia r0!, {r1-r4}\n" \
            "mov lr, r2\n" \
            "sub r5, r2, r1\n" \
            "lsr r5, r5, #5\n" \
            "sub r5, r5, #1\n" \
            "and r5, r5, #7\n" \
            "rsb r5, r5, #7\n" \
            "mov r6, #54\n" \
            "adr r7, 3f\n" \
            "mla r5, r5, r6, r7\n" \
            "orr r5, r5, #1\n" \
            "rsb r4, r4, #0\n" \
            "strd r1, r5, [sp]\n" \
            "str r4, [sp, #8]\n" \
            "ldmia r0, {r4-r7}\n" \
            "strd r4, r5, [sp, #12]\n" \
            "strd r6, r7, [sp, #20]\n" \
            "mov r1, r3\n" \
            "mov r12, #0x8000\n" \
            "2:\n" \
            "ldr r0, [sp]\n" \
            "ldr r8, [r1], #4\n" \
            "mov r9, r8\n" \
            "mov r10, r8\n" \
            "mov r11, r8\n" \
            "ldr pc, [sp, #4]\n" \
            ".balign 4\n" \
            "3:\n" \
            MOTE_SWAR_GROUP MOTE_SWAR_GROUP MOTE_SWAR_GROUP MOTE_SWAR_GROUP \
            MOTE_SWAR_GROUP MOTE_SWAR_GROUP MOTE_SWAR_GROUP MOTE_SWAR_GROUP \
            "cmp r0, lr\n" \
            "bne 3b\n" \
            "ldr r2, [r1], #4\n" \
            "cbz r2, 5f\n" \
            "ldr r0, [sp]\n" \
            "4:\n" \
            "ldmia r1!, {r3, r4}\n" \
            "add r3, r3, r0\n" \
            MOTE_SWAR_LEFT("r8", "r9", "0") \
            MOTE_SWAR_LEFT("r10", "r11", "16") \
            "subs r2, r2, #1\n" \
            "bne 4b\n" \
            "5:\n" \
            "ldmia r1!, {" constants "}\n" \
            MOTE_SWAR_EACH(products) \
            MOTE_SWAR_EACH(MOTE_SWAR_ROUND) \
            "ldrd r2, r3, [sp, #12]\n" \
            "ldrd r4, r5, [sp, #20]\n" \
            "ldr r6, [sp, #8]\n" \
            "strb r8, [r2, r6]\n" \
            "strb r9, [r3, r6]\n" \
            "strb r10, [r4, r6]\n" \
            "strb r11, [r5, r6]\n" \
            "adds r6, r6, #1\n" \
            "str r6, [sp, #8]\n" \
            "bne 2b\n" \
            "add sp, sp, #28\n" \
            "pop {r4-r11, pc}\n"); \
    }
MOTE_SWAR_CODE(plain, "r2-r4", MOTE_SWAR_PRODUCT)
#define mote_swar_plain mote_swar_plain
MOTE_SWAR_CODE(linear, "r2-r5", MOTE_SWAR_SIGNED)
#define mote_swar_linear mote_swar_linear

/* 23 instructions for 16 products. r0: inputs, r1: weights, r2, r3 and r12: of a group, r8 to r11: sums, r7: the end, lr:
 * 0x00FF00FF. */
#define MOTE_SWAR_CHANNEL(word, sum) \
    "and r6, lr, " word ", lsr #8\n" \
    "and " word ", " word ", lr\n" \
    "mla " word ", " word ", r2, r12\n" \
    "mla " word ", r6, r3, " word "\n" \
    "add " sum ", " sum ", " word ", asr #16\n"
#define MOTE_SWAR_FOUR \
    "ldmia r0!, {r2, r3, r12}\n" \
    "ldmia r1!, {r4, r5}\n" \
    MOTE_SWAR_CHANNEL("r4", "r8") \
    MOTE_SWAR_CHANNEL("r5", "r9") \
    "ldmia r1!, {r4, r5}\n" \
    MOTE_SWAR_CHANNEL("r4", "r10") \
    MOTE_SWAR_CHANNEL("r5", "r11")
__attribute__((naked, noinline, unused, aligned(4))) static const int32_t *mote_swar_vector(
    const uint32_t *inputs __attribute__((unused)), const int32_t *stream __attribute__((unused)),
    const uint32_t *end __attribute__((unused)), int32_t *sum __attribute__((unused))) {
    __asm__ volatile(
        "push {r3-r11, lr}\n"
        "mov r7, r2\n"
        "mov lr, #0x00FF00FF\n"
        "ldmia r1!, {r8-r11}\n"
        ".balign 4\n"
        "1:\n"
        MOTE_SWAR_FOUR
        MOTE_SWAR_FOUR
        "cmp r0, r7\n"
        "bne 1b\n"
        "mov r0, r1\n"
        "pop {r3}\n"
        "stmia r3, {r8-r11}\n"
        "pop {r4-r11, pc}\n");
}
#define mote_swar_vector mote_swar_vector

#endif
#endif

#endif
