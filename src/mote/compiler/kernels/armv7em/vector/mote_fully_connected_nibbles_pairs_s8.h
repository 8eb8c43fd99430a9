/* mote_fully_connected_nibbles_pairs_s8.h: mote_fully_connected_nibbles_s8.h for cores with DSP instructions.
 *
 * SXTB16 widens the first and the third of four inputs, then the second and the fourth. A word has the weights of such a
 * pair for four outputs: those of the first input in its low half, those of the second in its high one. One AND makes the
 * pair of an output of it. Weights of eight inputs come together. */
#ifndef MOTE_FULLY_CONNECTED_NIBBLES_PAIRS_S8_H
#define MOTE_FULLY_CONNECTED_NIBBLES_PAIRS_S8_H

#include "mote_dsp.h"
#include "mote_fully_connected_nibbles_s8.h"

#define MOTE_NIBBLES_pairs 8

#if MOTE_DSP
/* The products of the inputs in r12 with four outputs. */
#define MOTE_NIBBLES_WORD(a, b, c, d) \
    "ldr r11, [r9], #4\n" \
    "and lr, r10, r11\n" \
    "smlad " a ", r12, lr, " a "\n" \
    "and lr, r10, r11, lsr #4\n" \
    "smlad " b ", r12, lr, " b "\n" \
    "and lr, r10, r11, lsr #8\n" \
    "smlad " c ", r12, lr, " c "\n" \
    "and lr, r10, r11, lsr #12\n" \
    "smlad " d ", r12, lr, " d "\n"
#define MOTE_NIBBLES_FOUR MOTE_NIBBLES_WORD("r0", "r1", "r2", "r3")
#define MOTE_NIBBLES_EIGHT MOTE_NIBBLES_FOUR MOTE_NIBBLES_WORD("r4", "r5", "r6", "r7")

/* Four inputs: 40 instructions for eight outputs. */
#define MOTE_NIBBLES_INPUTS(products) \
    "ldr r12, [r8]\n" \
    "sxtb16 r12, r12\n" products \
    "ldr r12, [r8], #4\n" \
    "sxtb16 r12, r12, ror #8\n" products
#define MOTE_NIBBLES_SUMS(name, registers, products) \
    __attribute__((naked, noinline, unused)) static void name( \
        const int8_t *x __attribute__((unused)), const uint32_t *w __attribute__((unused)), \
        int32_t groups __attribute__((unused)), int32_t *sums __attribute__((unused))) { \
        __asm__ volatile("push {r3-r11, lr}\n" \
                         "add r2, r0, r2, lsl #3\n" \
                         "push {r2}\n" \
                         "mov r8, r0\n" \
                         "mov r9, r1\n" \
                         "mov r10, #0x000F000F\n" \
                         "ldm r3, " registers "\n" \
                         "1:\n" MOTE_NIBBLES_INPUTS(products) MOTE_NIBBLES_INPUTS(products) \
                         "ldr r11, [sp]\n" \
                         "cmp r8, r11\n" \
                         "bne.w 1b\n" \
                         "ldr r11, [sp, #4]\n" \
                         "stm r11, " registers "\n" \
                         "add sp, sp, #8\n" \
                         "pop {r4-r11, pc}\n"); \
    }
MOTE_NIBBLES_SUMS(mote_nibbles_eight_pairs, "{r0-r7}", MOTE_NIBBLES_EIGHT)
MOTE_NIBBLES_SUMS(mote_nibbles_four_pairs, "{r0-r3}", MOTE_NIBBLES_FOUR)
#else
static inline void mote_nibbles_pairs_c(const int8_t *x, const uint32_t *w, int32_t groups, int32_t fours,
                                        int32_t *sums) {
    for (; groups > 0; groups--, x += 8, w += 4 * fours) {
        for (int32_t i = 0; i < 8; i++) {
            for (int32_t c = 0; c < 4 * fours; c++) {
                const uint32_t word = w[(i / 4 * 2 + i % 2) * fours + c / 4];
                const int32_t nibble = (int32_t)(word >> (c % 4 * 4 + i % 4 / 2 * 16) & 15);
                sums[c] = mote_wrapping_add(sums[c], x[i] * nibble);
            }
        }
    }
}

MOTE_UNUSED static inline void mote_nibbles_eight_pairs(const int8_t *x, const uint32_t *w, int32_t groups,
                                                        int32_t *sums) {
    mote_nibbles_pairs_c(x, w, groups, 2, sums);
}

MOTE_UNUSED static inline void mote_nibbles_four_pairs(const int8_t *x, const uint32_t *w, int32_t groups,
                                                       int32_t *sums) {
    mote_nibbles_pairs_c(x, w, groups, 1, sums);
}
#endif

#endif
