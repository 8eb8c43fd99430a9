/* mote_learned_gemm4_s8.h: convolutions of mote_gemm4_s8.h whose weights and biases learn.
 *
 * The weights of four channels are put in order in working memory, and the kernel computes these channels of all pixels;
 * then those of the next four. */
#ifndef MOTE_LEARNED_GEMM4_S8_H
#define MOTE_LEARNED_GEMM4_S8_H

#include "mote_gemm4_s8.h"

#define MOTE_LEARNED_CONSTANTS 12 /* of four channels, which are rounded twice */

typedef struct {
    int32_t depth;        /* weights of a channel */
    int32_t zero;         /* the image's zero point */
    int32_t units;        /* output pixels where they are all alike, else output rows */
    int32_t own;          /* bytes of the kernel's own working memory, before constants and weights of four channels */
    int32_t vectors;      /* of sixteen weights of a channel */
    const uint16_t *from; /* where each begins */
    const uint8_t *bits;  /* biases count in -2^bits..2^bits */
} mote_learned_gemm4_t;

#if MOTE_HELIUM
/* A channel's vectors, 64 bytes from one to the next, with zeros behind the last weight. Returns the sum of all weights. */
__attribute__((naked, noinline, unused)) static int32_t mote_learned_vectors(
    const int8_t *weights __attribute__((unused)), const uint16_t *from __attribute__((unused)),
    int32_t vectors __attribute__((unused)), int32_t depth __attribute__((unused)), int8_t *to __attribute__((unused))) {
    __asm__ volatile("push {r4-r6, lr}\n\t"
                     "ldr r12, [sp, #16]\n\t"
                     "mov r6, #0\n\t"
                     "dls lr, r2\n"
                     "1:\n\t"
                     "ldrh r4, [r1], #2\n\t"
                     "subs r5, r3, r4\n\t"
                     "add r4, r4, r0\n\t"
                     "vctp.8 r5\n\t"
                     "vpst\n\t"
                     "vldrbt.u8 q0, [r4]\n\t"
                     "vaddva.s8 r6, q0\n\t"
                     "vstrb.8 q0, [r12], #64\n\t"
                     "le lr, 1b\n\t"
                     "mov r0, r6\n\t"
                     "pop {r4-r6, pc}\n\t");
}
#else
static inline int32_t mote_learned_vectors(const int8_t *weights, const uint16_t *from, int32_t vectors, int32_t depth,
                                           int8_t *to) {
    int32_t sum = 0;
    for (int32_t i = 0; i < 16 * vectors; i++) {
        const int32_t at = from[i / 16] + i % 16;
        const int8_t weight = at < depth ? weights[at] : 0;
        to[i / 16 * 64 + i % 16] = weight;
        sum += weight;
    }
    return sum;
}
#endif

/* Constants and weights of the channels from `first` on. `constants` has those of all channels, without biases. */
static inline void mote_learned_gemm4_four(const mote_learned_gemm4_t *p, const int32_t *constants, int32_t first,
                                           const int8_t *weights, const int32_t *bias, int32_t *to) {
    memcpy(to, constants, MOTE_LEARNED_CONSTANTS * sizeof *to);
    for (int32_t i = 0, c = first; i < 4; i++, c++) {
        int8_t *const vectors = (int8_t *)(to + MOTE_LEARNED_CONSTANTS) + 16 * i;
        const int32_t sum = mote_learned_vectors(weights + c * p->depth, p->from, p->vectors, p->depth, vectors);
        const int32_t most = (int32_t)1 << p->bits[c];
        to[i] = mote_wrapping_add(bias[c] < -most ? -most : mote_min(bias[c], most), -sum * p->zero);
    }
}

#define MOTE_LEARNED_GEMM4(id, run) \
    typedef struct { \
        mote_##id##_t kernel; \
        mote_learned_gemm4_t learned; \
    } mote_##id##_weights_t; \
    MOTE_UNUSED static inline void mote_##id##_weights(const mote_##id##_weights_t *p, const int8_t *in, \
                                                       const int8_t *weights, const int32_t *bias, int8_t *out, \
                                                       void *scratch) { \
        mote_##id##_t kernel = p->kernel; \
        int32_t *const constants = (int32_t *)(void *)((int8_t *)scratch + p->learned.own); \
        kernel.gemm.weights = (const int8_t *)(constants + MOTE_LEARNED_CONSTANTS); \
        kernel.gemm.constants = constants; \
        kernel.gemm.fours = 1; \
        kernel.gemm.last = 0; \
        for (int32_t four = 0; four < p->kernel.gemm.fours; four++) { \
            const int32_t first = mote_min(4 * four, p->kernel.gemm.last); \
            mote_learned_gemm4_four(&p->learned, p->kernel.gemm.constants + MOTE_LEARNED_CONSTANTS * four, first, weights, \
                                    bias, constants); \
            run \
        } \
    }

/* Of a kernel for pixels that are all alike, and of one for rows. */
#define MOTE_LEARNED_GEMM4_FLAT(id) \
    MOTE_LEARNED_GEMM4(id, mote_##id(&kernel, in, out + first, p->learned.units, (int8_t *)scratch);)
#define MOTE_LEARNED_GEMM4_ROWS(id) \
    MOTE_LEARNED_GEMM4(id, mote_##id(&kernel, in, out + first, 0, p->learned.units, (int8_t *)scratch);)

#endif
