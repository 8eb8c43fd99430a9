/* mote_matrix_pairs_s8.h: mote_matrix_s8.h with the weights of two rows in 16 bits. */
#ifndef MOTE_MATRIX_PAIRS_S8_H
#define MOTE_MATRIX_PAIRS_S8_H

#include "mote_fully_connected4_s8.h"
#include "mote_matrix_s8.h"

#if MOTE_DSP
__attribute__((naked, noinline, unused)) static void mote_matrix_sums(
    const int32_t *weights __attribute__((unused)), const uint32_t *x __attribute__((unused)),
    const uint32_t *end __attribute__((unused)), int32_t *sums __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "push {r2, r3}\n\t"
                     "mov r8, r1\n\t"
                     "mov r9, r0\n\t"
                     "ldm r9!, {r0-r3}\n"
                     "1:\n\t" MOTE_FC4_widened MOTE_FC4_LOAD MOTE_FC4_TIMES8_twice
                     "ldr r10, [sp]\n\t"
                     "cmp r8, r10\n\t"
                     "bne 1b\n\t" MOTE_FC4_SPLIT_twice
                     "pop {r10, r11}\n\t"
                     "stm r11, {r0-r3}\n\t"
                     "pop {r4-r11, pc}\n\t");
}
#else
static inline void mote_matrix_sums(const int32_t *weights, const uint32_t *x, const uint32_t *end, int32_t *sums) {
    memcpy(sums, weights, 4 * sizeof(int32_t));
    for (weights += 4; x < end; x++) {
        for (int32_t c = 0; c < 4; c += 2, weights++) {
            for (int32_t i = 0; i < 2; i++) {
                const int32_t both = mote_fc4_half((uint32_t)*weights, i), value = mote_fc4_half(*x, i);
                sums[c] += value * (int8_t)(both & 0xff);
                sums[c + 1] += value * both;
            }
        }
    }
    sums[1] = (sums[1] - sums[0]) >> 8;
    sums[3] = (sums[3] - sums[2]) >> 8;
}
#endif

/* mote_matrix_bytes of a vector that mote_matrix_widen has made. */
static inline void mote_matrix_pairs(const mote_matrix_s8_t *m, int32_t row, const void *x, int32_t *result) {
    const uint32_t *words = (const uint32_t *)x;
    mote_matrix_sums((const int32_t *)m->weights + row / 4 * m->block, words, words + (m->depth + 7) / 8 * 4, result);
    mote_matrix_rescale(m, result);
}

static inline void mote_matrix_widen(const mote_matrix_s8_t *m, const int8_t *x, uint32_t *to) {
    mote_fc4_fill(mote_fc4_widen(x, m->depth, to), to + (m->depth + 7) / 8 * 4);
}

#endif
