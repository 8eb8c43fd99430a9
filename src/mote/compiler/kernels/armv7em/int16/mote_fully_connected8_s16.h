/* mote_fully_connected8_s16.h: fully connected layers of int16 vectors with int8 weights, eight outputs at a time, for
 * cores with DSP instructions.
 *
 * Weights are words for two inputs and two outputs: four bytes, or (`wide`) two words of two half words, one for each
 * output. Those of eight outputs, and then of two, are behind one another for each two inputs. Sums wrap in 32 bits; the
 * compiler has proved that those fit that LiteRT adds up in 64 bits. What follows the sums is one of mote_layer.h. */
#ifndef MOTE_FULLY_CONNECTED8_S16_H
#define MOTE_FULLY_CONNECTED8_S16_H

#include "mote_dsp.h"
#include "mote_fully_connected_eights_s16.h"

/* Words of weights for two outputs. */
static inline int32_t mote_fc8_s16_words_bytes(int32_t depth) { return (depth + 1) / 2; }
static inline int32_t mote_fc8_s16_words_wide(int32_t depth) { return (depth + 1) / 2 * 2; }

#if MOTE_DSP
/* Adds the products of the inputs in lr to two sums, with the weights in a register. */
#define MOTE_FC8_S16_PAIR(a, b, w) \
    "sxtb16 r11, " w "\n" \
    "sxtb16 " w ", " w ", ror #8\n" \
    "smlad " a ", lr, r11, " a "\n" \
    "smlad " b ", lr, " w ", " b "\n"
#define MOTE_FC8_S16_EIGHT_BYTES \
    "ldm r9!, {r10, r12}\n" MOTE_FC8_S16_PAIR("r0", "r1", "r10") MOTE_FC8_S16_PAIR("r2", "r3", "r12") \
    "ldm r9!, {r10, r12}\n" MOTE_FC8_S16_PAIR("r4", "r5", "r10") MOTE_FC8_S16_PAIR("r6", "r7", "r12")
#define MOTE_FC8_S16_EIGHT_WIDE \
    "ldm r9!, {r10-r12}\n" \
    "smlad r0, lr, r10, r0\n" \
    "smlad r1, lr, r11, r1\n" \
    "smlad r2, lr, r12, r2\n" \
    "ldm r9!, {r10-r12}\n" \
    "smlad r3, lr, r10, r3\n" \
    "smlad r4, lr, r11, r4\n" \
    "smlad r5, lr, r12, r5\n" \
    "ldm r9!, {r10, r11}\n" \
    "smlad r6, lr, r10, r6\n" \
    "smlad r7, lr, r11, r7\n"
#define MOTE_FC8_S16_TWO_BYTES "ldr r10, [r9], #4\n" MOTE_FC8_S16_PAIR("r0", "r1", "r10")
#define MOTE_FC8_S16_TWO_WIDE "ldm r9!, {r10, r11}\nsmlad r0, lr, r10, r0\nsmlad r1, lr, r11, r1\n"

/* Four inputs a turn in the first loop, two in the second, then one that is left. */
#define MOTE_FC8_S16_LOOPS(step) \
    "push {r4-r11, lr}\n" \
    "sub sp, sp, #16\n" \
    "mov r8, r0\n" \
    "mov r9, r1\n" \
    "bic r10, r2, #7\n" \
    "add r10, r8, r10, lsl #1\n" \
    "bic r11, r2, #1\n" \
    "add r11, r8, r11, lsl #1\n" \
    "and r12, r2, #1\n" \
    "str r10, [sp]\n" \
    "str r11, [sp, #4]\n" \
    "str r12, [sp, #8]\n" \
    "str r3, [sp, #12]\n" \
    "ldm r3, {r0-r7}\n" \
    "b 2f\n" \
    "1:\n" \
    ".rept 4\n" \
    "ldr lr, [r8], #4\n" step \
    ".endr\n" \
    "2:\n" \
    "ldr r10, [sp]\n" \
    "cmp r8, r10\n" \
    "bne.w 1b\n" \
    "b 4f\n" \
    "3:\n" \
    "ldr lr, [r8], #4\n" step \
    "4:\n" \
    "ldr r10, [sp, #4]\n" \
    "cmp r8, r10\n" \
    "bne.w 3b\n" \
    "ldr r10, [sp, #8]\n" \
    "cmp r10, #0\n" \
    "beq.w 5f\n" \
    "ldrh lr, [r8]\n" step \
    "5:\n" \
    "ldr r8, [sp, #12]\n" \
    "stm r8, {r0-r7}\n" \
    "add sp, sp, #16\n" \
    "pop {r4-r11, pc}\n"

/* Adds the products of `depth` inputs to the first sums of eight. */
#define MOTE_FC8_S16_SUMS(name, step) \
    __attribute__((naked, noinline, unused)) static void name( \
        const int16_t *x __attribute__((unused)), const int32_t *w __attribute__((unused)), \
        int32_t depth __attribute__((unused)), int32_t *sums __attribute__((unused))) { \
        __asm__ volatile(MOTE_FC8_S16_LOOPS(step)); \
    }
MOTE_FC8_S16_SUMS(mote_fc8_s16_eight_bytes, MOTE_FC8_S16_EIGHT_BYTES)
MOTE_FC8_S16_SUMS(mote_fc8_s16_eight_wide, MOTE_FC8_S16_EIGHT_WIDE)
MOTE_FC8_S16_SUMS(mote_fc8_s16_two_bytes, MOTE_FC8_S16_TWO_BYTES)
MOTE_FC8_S16_SUMS(mote_fc8_s16_two_wide, MOTE_FC8_S16_TWO_WIDE)
#else
/* Adds the products of `depth` inputs to `outputs` sums. */
static inline void mote_fc8_s16_c(const int16_t *x, const int32_t *w, int32_t depth, int32_t outputs, int32_t wide,
                                  int32_t *sums) {
    for (int32_t i = 0; i < depth; i++) {
        for (int32_t c = 0; c < outputs; c++) {
            const int32_t at = i / 2 * (outputs / 2) + c / 2;
            const uint32_t word = (uint32_t)w[wide ? 2 * at + c % 2 : at];
            const int32_t weight = wide ? (int16_t)(uint16_t)(word >> i % 2 * 16)
                                        : (int8_t)(uint8_t)(word >> (i % 2 * 16 + c % 2 * 8));
            sums[c] = mote_wrapping_add(sums[c], x[i] * weight);
        }
    }
}

#define MOTE_FC8_S16_C(name, outputs, wide) \
    MOTE_UNUSED static inline void name(const int16_t *x, const int32_t *w, int32_t depth, int32_t *sums) { \
        mote_fc8_s16_c(x, w, depth, outputs, wide, sums); \
    }
MOTE_FC8_S16_C(mote_fc8_s16_eight_bytes, 8, 0)
MOTE_FC8_S16_C(mote_fc8_s16_eight_wide, 8, 1)
MOTE_FC8_S16_C(mote_fc8_s16_two_bytes, 2, 0)
MOTE_FC8_S16_C(mote_fc8_s16_two_wide, 2, 1)
#endif

#endif
