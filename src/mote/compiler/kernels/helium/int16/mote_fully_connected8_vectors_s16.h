/* mote_fully_connected8_vectors_s16.h: fully connected layers of int16 vectors with int8 weights, eight outputs at a time,
 * for cores with Helium.
 *
 * Weights come in eights, those of all outputs of a group for eight inputs, padded with zeros behind the last input.
 * Sums wrap in 32 bits; the compiler has proved that those fit that LiteRT adds up in 64 bits. */
#ifndef MOTE_FULLY_CONNECTED8_VECTORS_S16_H
#define MOTE_FULLY_CONNECTED8_VECTORS_S16_H

#include "mote_fully_connected_eights_s16.h"
#include "mote_helium.h"

/* Words of weights for two outputs. */
static inline int32_t mote_fc8_s16_words_vectors(int32_t depth) { return (depth + 7) / 8 * 4; }

#if MOTE_HELIUM
#define MOTE_FC8_S16_ONE(sum, w) "vldrb.s16 " w ", [r1], #8\nvmladava.s16 " sum ", q0, " w "\n"
#define MOTE_FC8_S16_EIGHT_VECTORS \
    MOTE_FC8_S16_ONE("r0", "q1") MOTE_FC8_S16_ONE("r2", "q2") MOTE_FC8_S16_ONE("r4", "q3") \
    MOTE_FC8_S16_ONE("r6", "q1") MOTE_FC8_S16_ONE("r8", "q2") MOTE_FC8_S16_ONE("r10", "q3") \
    MOTE_FC8_S16_ONE("r12", "q1") MOTE_FC8_S16_ONE("lr", "q2")
#define MOTE_FC8_S16_TWO_VECTORS MOTE_FC8_S16_ONE("r0", "q1") MOTE_FC8_S16_ONE("r2", "q2")

/* Adds the products of `depth` inputs to the first sums of eight. */
#define MOTE_FC8_S16_VECTORS(name, step) \
    __attribute__((naked, noinline, unused)) static void name( \
        const int16_t *x __attribute__((unused)), const int32_t *w __attribute__((unused)), \
        int32_t depth __attribute__((unused)), int32_t *sums __attribute__((unused))) { \
        __asm__ volatile("push {r3-r11, lr}\n" \
                         "and r4, r2, #7\n" \
                         "push {r4}\n" \
                         "lsr r11, r2, #3\n" \
                         "mov r9, r3\n" \
                         "mov r3, r0\n" \
                         "ldm r9, {r0, r2, r4, r6, r8, r10, r12, lr}\n" \
                         "cmp r11, #0\n" \
                         "beq.w 2f\n" \
                         "1:\n" \
                         "vldrh.u16 q0, [r3], #16\n" step \
                         "subs r11, r11, #1\n" \
                         "bne.w 1b\n" \
                         "2:\n" \
                         "pop {r11}\n" \
                         "cmp r11, #0\n" \
                         "beq.w 3f\n" \
                         "vctp.16 r11\n" \
                         "vpst\n" \
                         "vldrht.u16 q0, [r3]\n" step \
                         "3:\n" \
                         "pop {r3}\n" \
                         "stm r3, {r0, r2, r4, r6, r8, r10, r12, lr}\n" \
                         "pop {r4-r11, pc}\n"); \
    }
MOTE_FC8_S16_VECTORS(mote_fc8_s16_eight_vectors, MOTE_FC8_S16_EIGHT_VECTORS)
MOTE_FC8_S16_VECTORS(mote_fc8_s16_two_vectors, MOTE_FC8_S16_TWO_VECTORS)
#else
static inline void mote_fc8_s16_vectors_c(const int16_t *x, const int32_t *w, int32_t depth, int32_t outputs,
                                          int32_t *sums) {
    for (int32_t i = 0; i < depth; i++) {
        for (int32_t c = 0; c < outputs; c++) {
            const int32_t at = (i / 8 * outputs + c) * 8 + i % 8;
            const int32_t weight = (int8_t)(uint8_t)((uint32_t)w[at / 4] >> at % 4 * 8);
            sums[c] = mote_wrapping_add(sums[c], x[i] * weight);
        }
    }
}

MOTE_UNUSED static inline void mote_fc8_s16_eight_vectors(const int16_t *x, const int32_t *w, int32_t depth,
                                                          int32_t *sums) {
    mote_fc8_s16_vectors_c(x, w, depth, 8, sums);
}

MOTE_UNUSED static inline void mote_fc8_s16_two_vectors(const int16_t *x, const int32_t *w, int32_t depth,
                                                        int32_t *sums) {
    mote_fc8_s16_vectors_c(x, w, depth, 2, sums);
}
#endif

#endif
