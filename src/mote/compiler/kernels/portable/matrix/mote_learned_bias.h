/* mote_learned_bias.h: kernels of layers whose weights are constants, with biases that are learned.
 *
 * A kernel's parameters have a bias for each channel in some array. That is copied into working memory, with the learned
 * bias added as sums come in this kernel, and the kernel is called with a copy of its parameters that points there. Learned
 * biases count up to a power of two, for which the compiler has proved that sums fit.
 */
#ifndef MOTE_LEARNED_BIAS_H
#define MOTE_LEARNED_BIAS_H

#include "mote_common.h"

typedef struct {
    int32_t channels;
    int32_t words, step;  /* of the array, and from a channel's bias to the next one's */
    int32_t placed;       /* biases in the array, where a channel may have several */
    int32_t own;          /* bytes of the kernel's own working memory, before the array */
    int32_t under_row, under_rows; /* where among pointers to rows that to the biases is: for one row, for several */
    const uint8_t *bits;  /* biases count in -2^bits..2^bits */
    const int32_t *starts; /* the array, where it is no parameter of the kernel */
    const int32_t *scale; /* what sums come times; NULL: as they are */
    const uint16_t *places; /* of these the channel and the word of each; NULL: one of each channel, by steps */
} mote_learned_bias_t;

/* What the learned bias of a channel adds to its sum. */
static inline uint32_t mote_learned_part(const mote_learned_bias_t *p, const int32_t *bias, int32_t channel) {
    const uint32_t most = (uint32_t)1 << p->bits[channel];
    uint32_t value = (uint32_t)bias[channel];
    if (value + most > 2 * most) {
        value = bias[channel] < 0 ? 0u - most : most;
    }
    return value * (p->scale != NULL ? (uint32_t)p->scale[channel] : 1u);
}

MOTE_NOINLINE mote_any_const_t mote_learned_bias(const mote_learned_bias_t *p, const void *from, const int32_t *bias,
                                                void *scratch) {
    int32_t *const to = (int32_t *)(void *)((int8_t *)scratch + p->own), *at = to;
    const uint16_t *place = p->places;
    const int32_t step = p->step;
    memcpy(to, from, (size_t)p->words * sizeof *to);
    for (int32_t i = 0; i < p->placed; i++, place += 2) {
        to[place[1]] = (int32_t)((uint32_t)to[place[1]] + mote_learned_part(p, bias, place[0]));
    }
    for (int32_t c = 0; place == NULL && c < p->channels; c++, at += step) {
        *at = (int32_t)((uint32_t)*at + mote_learned_part(p, bias, c));
    }
    return to;
}

/* The same where the sum of every second channel also has that of the channel before it. */
MOTE_NOINLINE void mote_learned_pairs(const mote_learned_bias_t *p, const int32_t *bias, void *scratch) {
    int32_t *const to = (int32_t *)(void *)((int8_t *)scratch + p->own);
    (void)mote_learned_bias(p, p->starts, bias, scratch);
    for (int32_t c = 1; c < p->channels; c += 2) {
        to[c] = (int32_t)((uint32_t)to[c] + (uint32_t)to[c - 1] - (uint32_t)p->starts[c - 1]);
    }
}

#define MOTE_LEARNED_SCRATCH(x) , x
#define MOTE_LEARNED_NO_SCRATCH(x)

/* The parameters of such a kernel, and those that the kernel inside is called with. */
#define MOTE_LEARNED_BIAS_PARAMS(id) \
    typedef struct { \
        mote_##id##_t kernel; \
        mote_learned_bias_t learned; \
    } mote_##id##_learned_t;
#define MOTE_LEARNED_BIAS_COPY(id, put, path, bias) \
    mote_##id##_t kernel = p->kernel; \
    put(path, bias)
/* A parameter points to the biases; or the kernel finds them behind its own working memory. */
#define MOTE_LEARNED_PARAMETER(path, bias) \
    kernel.path = mote_learned_bias(&p->learned, p->kernel.path, bias, scratch);
#define MOTE_LEARNED_PLACE(path, bias) (void)mote_learned_bias(&p->learned, p->learned.starts, bias, scratch);
#define MOTE_LEARNED_PAIRS(path, bias) mote_learned_pairs(&p->learned, bias, scratch);

/* `put`, `path`: where its biases are; `working`: whether it has working memory. */
#define MOTE_LEARNED_BIAS_FLAT(id, put, path, working) \
    MOTE_LEARNED_BIAS_PARAMS(id) \
    MOTE_UNUSED static inline void mote_##id##_learned(const mote_##id##_learned_t *p, const int8_t *in, \
                                                       const int32_t *bias, int8_t *out, int32_t units, \
                                                       mote_any_t scratch) { \
        MOTE_LEARNED_BIAS_COPY(id, put, path, bias) \
        mote_##id(&kernel, in, out, units working(scratch)); \
    }
#define MOTE_LEARNED_BIAS_ROWS(id, put, path, working) \
    MOTE_LEARNED_BIAS_PARAMS(id) \
    MOTE_UNUSED static inline void mote_##id##_learned(const mote_##id##_learned_t *p, const int8_t *in, \
                                                       const int32_t *bias, int8_t *out, int32_t lo, int32_t hi, \
                                                       mote_any_t scratch) { \
        MOTE_LEARNED_BIAS_COPY(id, put, path, bias) \
        mote_##id(&kernel, in, out, lo, hi working(scratch)); \
    }
#define MOTE_LEARNED_BIAS_WHOLE(id, put, path, working) \
    MOTE_LEARNED_BIAS_PARAMS(id) \
    MOTE_UNUSED static inline void mote_##id##_learned(const mote_##id##_learned_t *p, const int8_t *in, \
                                                       const int32_t *bias, int8_t *out, mote_any_t scratch) { \
        MOTE_LEARNED_BIAS_COPY(id, put, path, bias) \
        mote_##id(&kernel, in, out working(scratch)); \
    }

/* One output row, or several, from pointers to input rows, behind which one points to the biases. */
#define MOTE_LEARNED_BIAS_OF(rows, under) ((const int32_t *)(const void *)(rows)[p->learned.under])
#define MOTE_LEARNED_BIAS_ROW(id, put, path, working, row) \
    MOTE_UNUSED static inline void mote_##row##_learned(const mote_##id##_learned_t *p, const int8_t **rows, \
                                                        int8_t *out, mote_any_t scratch) { \
        MOTE_LEARNED_BIAS_COPY(id, put, path, MOTE_LEARNED_BIAS_OF(rows, under_row)) \
        mote_##row(&kernel, rows, out working(scratch)); \
    }
#define MOTE_LEARNED_BIAS_SEVERAL(id, put, path, working, several) \
    MOTE_UNUSED static inline void mote_##several##_learned(const mote_##id##_learned_t *p, const int8_t **rows, \
                                                            int8_t *const *outs, int32_t count, mote_any_t scratch) { \
        MOTE_LEARNED_BIAS_COPY(id, put, path, MOTE_LEARNED_BIAS_OF(rows, under_rows)) \
        mote_##several(&kernel, rows, outs, count working(scratch)); \
    }

#endif
