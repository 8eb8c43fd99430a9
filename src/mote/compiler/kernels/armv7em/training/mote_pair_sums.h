/* mote_pair_sums.h: sums of eight channels over terms, each a factor and a vector, for cores with DSP instructions.
 *
 * Factors that are zero are no terms: about half of a gradient behind a RELU. A word of a vector has two numbers, a and b,
 * as a + b * 2^23, and a term its factor times 2^9, so that SMLAL adds the factor times a to the upper bits of a word, and
 * the factor times b to the next word. Sums of a stay below 2^22. */
#ifndef MOTE_PAIR_SUMS_H
#define MOTE_PAIR_SUMS_H

#include "mote_common.h"

#define MOTE_PAIR_BYTES 16 /* of a vector */
#define MOTE_PAIR_MOST (((int32_t)1 << 22) - 1) /* the largest sum of products */

typedef struct {
    int32_t at, by; /* where the vector begins, in bytes, and its factor, shifted */
} mote_pair_term_t;

/* Sums of the same terms, one behind the other: how many, and the bytes from one to the next. */
typedef struct {
    int32_t count, base, sums;
} mote_pair_runs_t;

/* A factor as terms have it. */
static inline int32_t mote_pair_factor(int32_t by) { return by * ((int32_t)1 << 9); }

static inline uint32_t mote_paired(int32_t a, int32_t b) { return (uint32_t)a + ((uint32_t)b << 23); }

/* A vector of eight channels less `zero`, or of fewer and zeros. */
static inline void mote_pair_vector(const int8_t *from, int32_t channels, int32_t zero, uint32_t *to) {
    if (channels >= 8) {
        const uint32_t zeros = mote_paired(zero, zero);
        to[0] = mote_paired(from[0], from[1]) - zeros;
        to[1] = mote_paired(from[2], from[3]) - zeros;
        to[2] = mote_paired(from[4], from[5]) - zeros;
        to[3] = mote_paired(from[6], from[7]) - zeros;
        return;
    }
    for (int32_t i = 0; i < 8; i += 2) {
        const int32_t a = i < channels ? from[i] - zero : 0, b = i + 1 < channels ? from[i + 1] - zero : 0;
        to[i / 2] = mote_paired(a, b);
    }
}

/* Terms of nothing, so that there are fours of them. */
static inline int32_t mote_pair_fours(mote_pair_term_t *terms, int32_t count) {
    for (; count % 4 != 0; count++) {
        terms[count].at = terms[count].by = 0;
    }
    return count;
}

#if MOTE_DSP
#define MOTE_PAIR_STEP(multiply) \
    "ldrd r1, r3, [r0], #8\n\t" \
    "add r1, r1, r2\n\t" \
    "ldrd r12, lr, [r1]\n\t" \
    multiply " r4, r5, r3, r12\n\t" \
    multiply " r6, r7, r3, lr\n\t" \
    "ldrd r12, lr, [r1, #8]\n\t" \
    multiply " r8, r9, r3, r12\n\t" \
    multiply " r10, r11, r3, lr\n\t"

/* Both sums of a pair. Where the lower word is negative, it has borrowed from the upper one. */
#define MOTE_PAIR_ADD(low, high) \
    "ldrd r12, lr, [r3]\n\t" \
    "adds r1, " low ", " low "\n\t" \
    "adc lr, lr, " high "\n\t" \
    "add r12, r12, " low ", asr #9\n\t" \
    "strd r12, lr, [r3], #8\n\t"

/* Adds `terms` up to `end`, one or more fours of them, of vectors from `base` on to eight sums, and so on for one or more
 * runs. 35 instructions for four terms, and 29. */
__attribute__((naked, noinline, unused)) static void mote_pair_sums(
    const mote_pair_term_t *terms __attribute__((unused)), const mote_pair_term_t *end __attribute__((unused)),
    const uint32_t *base __attribute__((unused)), int32_t *sums __attribute__((unused)),
    const mote_pair_runs_t *runs __attribute__((unused))) {
    __asm__ volatile("push {r3-r11, lr}\n\t"
                     "ldr r12, [sp, #40]\n\t"
                     "ldm r12, {r4-r6}\n\t"
                     "sub r6, r6, #32\n\t"
                     "push {r1, r4}\n\t"
                     "push {r0, r5, r6}\n"
                     "1:\n\t" MOTE_PAIR_STEP("smull")
                     "b 3f\n"
                     "2:\n\t" MOTE_PAIR_STEP("smlal")
                     "3:\n\t" MOTE_PAIR_STEP("smlal") MOTE_PAIR_STEP("smlal") MOTE_PAIR_STEP("smlal")
                     "ldr r12, [sp, #12]\n\t"
                     "cmp r0, r12\n\t"
                     "bne 2b\n\t"
                     "ldr r3, [sp, #20]\n\t" MOTE_PAIR_ADD("r4", "r5") MOTE_PAIR_ADD("r6", "r7")
                     MOTE_PAIR_ADD("r8", "r9") MOTE_PAIR_ADD("r10", "r11")
                     "ldm sp, {r0, r1, r12}\n\t"
                     "add r2, r2, r1\n\t"
                     "ldr r1, [sp, #16]\n\t"
                     "add r3, r3, r12\n\t"
                     "subs r1, r1, #1\n\t"
                     "strd r1, r3, [sp, #16]\n\t"
                     "bne 1b\n\t"
                     "add sp, sp, #24\n\t"
                     "pop {r4-r11, pc}\n\t");
}
#else
static inline void mote_pair_sums(const mote_pair_term_t *terms, const mote_pair_term_t *end, const uint32_t *base,
                                  int32_t *sums, const mote_pair_runs_t *runs) {
    for (int32_t run = 0; run < runs->count; run++) {
        const uint32_t *const from = base + run * runs->base / 4;
        int32_t *const to = sums + run * runs->sums / 4;
        for (int32_t i = 0; i < 4; i++) {
            int64_t sum = 0;
            for (const mote_pair_term_t *t = terms; t < end; t++) {
                sum += (int64_t)t->by * (int32_t)from[t->at / 4 + i];
            }
            const int32_t low = (int32_t)(uint32_t)sum;
            to[2 * i] += low >> 9;
            to[2 * i + 1] += (int32_t)((sum - low) >> 32);
        }
    }
}
#endif

#endif
