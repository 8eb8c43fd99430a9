/* mote_swar_armv6m.h: mote_swar.h on cores with 16-bit instructions only. */
#ifndef MOTE_SWAR_ARMV6M_H
#define MOTE_SWAR_ARMV6M_H

#include "mote_compiler.h"

#if defined(__thumb__) && !defined(__thumb2__) && defined(__ARM_ARCH_PROFILE) && defined(__GNUC__) && \
    !defined(MOTE_PORTABLE)
#if __ARM_ARCH_PROFILE == 'M'

/* gcc takes the older syntax for granted here. */
#define MOTE_SWAR_PUSH \
    ".syntax unified\n" \
    "push {r4-r7, lr}\n" \
    "mov r4, r8\n" \
    "mov r5, r9\n" \
    "mov r6, r10\n" \
    "mov r7, r11\n" \
    "push {r4-r7}\n"
#define MOTE_SWAR_POP \
    "pop {r4-r7}\n" \
    "mov r8, r4\n" \
    "mov r9, r5\n" \
    "mov r10, r6\n" \
    "mov r11, r7\n" \
    "pop {r4-r7, pc}\n"

/* Two pixels, `step` apart: 26 cycles for four inputs of both. r0, r1: from, r2: to, r3: 0x00FF00FF, r8: 0x80808080,
 * r9: -0x00800080, r10: the end. */
__attribute__((naked, noinline, unused, aligned(4))) static void mote_swar_spread2(
    const int8_t *from __attribute__((unused)), int32_t step __attribute__((unused)),
    int32_t groups __attribute__((unused)), uint32_t *to __attribute__((unused))) {
    __asm__ volatile(
        MOTE_SWAR_PUSH
        "lsls r2, r2, #5\n"
        "adds r2, r2, r3\n"
        "mov r10, r2\n"
        "movs r2, r3\n"
        "adds r1, r0, r1\n"
        "movs r3, #0xFF\n"
        "lsls r4, r3, #16\n"
        "orrs r3, r3, r4\n"
        "movs r4, #0x80\n"
        "lsls r5, r4, #16\n"
        "orrs r4, r4, r5\n"
        "rsbs r5, r4, #0\n"
        "mov r9, r5\n"
        "lsls r5, r4, #8\n"
        "orrs r4, r4, r5\n"
        "mov r8, r4\n"
        "1:\n"
        "mov r7, r8\n"
        "ldmia r0!, {r4}\n"
        "eors r4, r4, r7\n"
        "ldmia r1!, {r5}\n"
        "eors r5, r5, r7\n"
        "lsrs r6, r4, #8\n"
        "lsrs r7, r5, #8\n"
        "ands r4, r4, r3\n"
        "ands r5, r5, r3\n"
        "ands r6, r6, r3\n"
        "ands r7, r7, r3\n"
        "add r4, r4, r9\n"
        "add r5, r5, r9\n"
        "add r6, r6, r9\n"
        "add r7, r7, r9\n"
        "stmia r2!, {r4-r7}\n"
        "adds r2, r2, #16\n"
        "cmp r2, r10\n"
        "bne 1b\n"
        MOTE_SWAR_POP);
}

static inline void mote_swar_spread4(const int8_t *from, int32_t step, int32_t groups, uint32_t *to) {
    mote_swar_spread2(from, step, groups, to);
    mote_swar_spread2(from + 2 * step, step, groups, to + 4);
}
#define mote_swar_spread4 mote_swar_spread4

static inline void mote_swar_copy(const int8_t *from, int32_t count, int8_t *to) {
    for (; count > 3; count -= 4, from += 4, to += 4) {
        const int8_t a = from[0], b = from[1], c = from[2], d = from[3];
        to[0] = a;
        to[1] = b;
        to[2] = c;
        to[3] = d;
        MOTE_MOVED(to);
    }
    for (; count > 0; count--) {
        *to++ = *from++;
        MOTE_MOVED(to);
    }
}
#define mote_swar_copy mote_swar_copy

MOTE_NOINLINE MOTE_HOT void mote_swar_spread(const int8_t *from, int32_t groups, uint32_t *to) {
    const uint32_t *const end = to + 8 * groups;
    for (; to != end; from += 4, to += 8) {
        uint32_t x;
        __builtin_memcpy(&x, __builtin_assume_aligned(from, 4), 4);
        x ^= 0x80808080u;
        to[0] = (x & 0x00FF00FFu) - 0x00800080u;
        to[2] = (x >> 8 & 0x00FF00FFu) - 0x00800080u;
    }
}
#define mote_swar_spread mote_swar_spread

/* Half of a group, two pixels; a group has 54 bytes and takes 37 cycles. */
#define MOTE_SWAR_HALF(first, second) \
    "ldmia r0!, {r4-r7}\n" \
    "muls r4, r2, r4\n" \
    "muls r5, r2, r5\n" \
    "muls r6, r3, r6\n" \
    "muls r7, r3, r7\n" \
    "adds r4, r4, r6\n" \
    "adds r5, r5, r7\n" \
    "add r4, r4, r12\n" \
    "add r5, r5, r12\n" \
    "asrs r4, r4, #16\n" \
    "asrs r5, r5, #16\n" \
    "add " first ", " first ", r4\n" \
    "add " second ", " second ", r5\n"
#define MOTE_SWAR_GROUP \
    "ldmia r1!, {r2, r3}\n" \
    MOTE_SWAR_HALF("r8", "r9") \
    MOTE_SWAR_HALF("r10", "r11")
#define MOTE_SWAR_LEFT(sum, at) \
    "ldr r4, [r2, #" at "]\n" \
    "muls r4, r3, r4\n" \
    "add r4, r4, r12\n" \
    "asrs r4, r4, #16\n" \
    "add " sum ", " sum ", r4\n"
/* The sum between 0 and lr, and its products with r3 and r4. */
#define MOTE_SWAR_BOUNDED(x) \
    "mov r7, " x "\n" \
    "cmp r7, lr\n" \
    "bls 7f\n" \
    "asrs r0, r7, #31\n" \
    "mov r7, lr\n" \
    "bics r7, r7, r0\n" \
    "7:\n" \
    "movs r0, r7\n" \
    "muls r7, r3, r7\n"
#define MOTE_SWAR_BYTE \
    "muls r0, r4, r0\n" \
    "lsrs r0, r0, r6\n" \
    "adds r7, r7, r0\n" \
    "adds r7, r7, r5\n" \
    "lsrs r7, r7, #24\n"
/* r12: the stream, r1: the channel. */
#define MOTE_SWAR_PLAIN(x, at) \
    MOTE_SWAR_BOUNDED(x) \
    MOTE_SWAR_BYTE \
    "ldr r2, [sp, #" at "]\n" \
    "strb r7, [r2, r1]\n"
/* r12: turn, r1: fix. */
#define MOTE_SWAR_LINEAR(x, at) \
    MOTE_SWAR_BOUNDED(x) \
    "cmp r0, r12\n" \
    "blo 8f\n" \
    "adds r7, r7, r1\n" \
    "8:\n" \
    MOTE_SWAR_BYTE \
    "ldr r2, [sp, #" at "]\n" \
    "ldr r0, [sp, #8]\n" \
    "strb r7, [r2, r0]\n"
#define MOTE_SWAR_EACH(of) of("r8", "12") of("r9", "16") of("r10", "20") of("r11", "24")
#define MOTE_SWAR_PLAIN_CHANNEL \
    "mov r12, r1\n" \
    "ldr r1, [sp, #8]\n" \
    MOTE_SWAR_EACH(MOTE_SWAR_PLAIN) \
    "ldr r0, [sp, #28]\n" \
    "mov lr, r0\n" \
    "adds r1, r1, #1\n" \
    "str r1, [sp, #8]\n" \
    "mov r1, r12\n"
#define MOTE_SWAR_LINEAR_CHANNEL \
    "ldmia r1!, {r0, r2}\n" \
    "mov r12, r0\n" \
    "str r1, [sp, #32]\n" \
    "movs r1, r2\n" \
    MOTE_SWAR_EACH(MOTE_SWAR_LINEAR) \
    "ldr r1, [sp, #32]\n" \
    "ldr r0, [sp, #28]\n" \
    "mov lr, r0\n" \
    "ldr r0, [sp, #8]\n" \
    "adds r0, r0, #1\n" \
    "str r0, [sp, #8]\n"

/* r0: inputs, r1: stream, r2 and r3: weights, r8 to r11: sums, lr: the end of the inputs. On the stack: inputs, where the
 * loop is entered, channels left, four pointers to outputs, the end, and room for the stream. The loop does eight groups;
 * it is entered in the middle where their number is no multiple of that. */
#define MOTE_SWAR_INPUTS \
    "ldmia r0!, {r1-r4}\n" \
    "str r1, [sp]\n" \
    "str r2, [sp, #28]\n" \
    "mov lr, r2\n"
/* r5: groups but one; becomes the number of those that the first turn leaves out. */
#define MOTE_SWAR_LEFT_OUT \
    "movs r6, #7\n" \
    "ands r5, r5, r6\n" \
    "subs r5, r6, r5\n"
#define MOTE_SWAR_ENTRY \
    "adr r6, 3f\n" \
    "adds r5, r5, r6\n" \
    "str r5, [sp, #4]\n"
#define MOTE_SWAR_OUTPUTS \
    "rsbs r4, r4, #0\n" \
    "str r4, [sp, #8]\n" \
    "mov r1, r3\n" \
    "ldmia r0!, {r4-r7}\n" \
    "add r0, sp, #12\n" \
    "stmia r0!, {r4-r7}\n"
/* The groups of a channel, up to the products that are left over: with none of them it ends at 5. */
#define MOTE_SWAR_GROUPS(group) \
    "ldr r0, [sp]\n" \
    "ldr r2, [sp, #4]\n" \
    "ldmia r1!, {r3}\n" \
    "mov r8, r3\n" \
    "mov r9, r3\n" \
    "mov r10, r3\n" \
    "mov r11, r3\n" \
    "mov pc, r2\n" \
    ".balign 4\n" \
    "3:\n" \
    group group group group group group group group \
    "cmp r0, lr\n" \
    "beq 9f\n" \
    "b 3b\n" \
    "9:\n" \
    "ldmia r1!, {r2}\n" \
    "cmp r2, #0\n" \
    "beq 5f\n" \
    "lsls r2, r2, #3\n" \
    "adds r2, r2, r1\n" \
    "mov lr, r2\n"
/* r12: half of 2^16, from r2. */
#define MOTE_SWAR_ROUND \
    "movs r2, #128\n" \
    "lsls r2, r2, #8\n" \
    "mov r12, r2\n"
/* r0: what the products that are left over are of. */
#define MOTE_SWAR_LEFT_OVER \
    "4:\n" \
    "ldmia r1!, {r2, r3}\n" \
    "adds r2, r2, r0\n" \
    MOTE_SWAR_LEFT("r8", "0") \
    MOTE_SWAR_LEFT("r9", "4") \
    MOTE_SWAR_LEFT("r10", "16") \
    MOTE_SWAR_LEFT("r11", "20") \
    "cmp r1, lr\n" \
    "bne 4b\n" \
    "5:\n" \
    "ldmia r1!, {r2-r6}\n" \
    "mov lr, r2\n"
#define MOTE_SWAR_CODE(form, channel) \
    __attribute__((naked, noinline, unused, aligned(4))) static void mote_swar_##form( \
        const mote_swar_frame_t *f __attribute__((unused))) { \
        __asm__ volatile( \
            MOTE_SWAR_PUSH \
            "sub sp, sp, #36\n" \
            MOTE_SWAR_INPUTS \
            "subs r5, r2, r1\n" \
            "lsrs r5, r5, #5\n" \
            "subs r5, r5, #1\n" \
            MOTE_SWAR_LEFT_OUT \
            "movs r6, #54\n" \
            "muls r5, r6, r5\n" \
            MOTE_SWAR_ENTRY \
            MOTE_SWAR_OUTPUTS \
            "2:\n" \
            MOTE_SWAR_ROUND \
            MOTE_SWAR_GROUPS(MOTE_SWAR_GROUP) \
            "ldr r0, [sp]\n" \
            MOTE_SWAR_LEFT_OVER \
            channel \
            "beq 6f\n" \
            "b 2b\n" \
            "6:\n" \
            "add sp, sp, #36\n" \
            MOTE_SWAR_POP); \
    }
MOTE_SWAR_CODE(plain32, MOTE_SWAR_PLAIN_CHANNEL)
#define mote_swar_plain32 mote_swar_plain32
MOTE_SWAR_CODE(linear32, MOTE_SWAR_LINEAR_CHANNEL)
#define mote_swar_linear32 mote_swar_linear32

/* r0: inputs, r1: weights, r8 to r11: sums, lr: the end; `constant` is made once, a turn of the loop is two groups. */
#define MOTE_SWAR_SUMS(name, constant, group) \
    __attribute__((naked, noinline, unused, aligned(4))) static const int32_t *name( \
        const uint32_t *inputs __attribute__((unused)), const int32_t *stream __attribute__((unused)), \
        const uint32_t *end __attribute__((unused)), int32_t *sum __attribute__((unused))) { \
        __asm__ volatile( \
            MOTE_SWAR_PUSH \
            "push {r3}\n" \
            "mov lr, r2\n" \
            "ldmia r1!, {r4-r7}\n" \
            "mov r8, r4\n" \
            "mov r9, r5\n" \
            "mov r10, r6\n" \
            "mov r11, r7\n" \
            constant \
            ".balign 4\n" \
            "1:\n" \
            group \
            group \
            "cmp r0, lr\n" \
            "bne 1b\n" \
            "movs r0, r1\n" \
            "pop {r3}\n" \
            "mov r4, r8\n" \
            "mov r5, r9\n" \
            "mov r6, r10\n" \
            "mov r7, r11\n" \
            "stmia r3!, {r4-r7}\n" \
            MOTE_SWAR_POP); \
    }
#define MOTE_SWAR_BYTES "movs r6, #0xFF\nlsls r5, r6, #16\norrs r6, r6, r5\n"

/* 47 cycles for 16 products. r2, r3 and r12: of a group, r6: 0x00FF00FF. */
#define MOTE_SWAR_CHANNEL(word, sum) \
    "lsrs r5, " word ", #8\n" \
    "ands " word ", " word ", r6\n" \
    "ands r5, r5, r6\n" \
    "muls " word ", r2, " word "\n" \
    "muls r5, r3, r5\n" \
    "adds " word ", " word ", r5\n" \
    "add " word ", " word ", r12\n" \
    "asrs " word ", " word ", #16\n" \
    "add " sum ", " sum ", " word "\n"
#define MOTE_SWAR_FOUR \
    "ldmia r0!, {r2-r4}\n" \
    "mov r12, r4\n" \
    "ldmia r1!, {r4, r7}\n" \
    MOTE_SWAR_CHANNEL("r4", "r8") \
    MOTE_SWAR_CHANNEL("r7", "r9") \
    "ldmia r1!, {r4, r7}\n" \
    MOTE_SWAR_CHANNEL("r4", "r10") \
    MOTE_SWAR_CHANNEL("r7", "r11")
MOTE_SWAR_SUMS(mote_swar_vector, MOTE_SWAR_BYTES, MOTE_SWAR_FOUR)
#define mote_swar_vector mote_swar_vector

#endif
#endif

#endif
