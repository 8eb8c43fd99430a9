/* mote_layer.h: what layers with weights of all types share: where their sums begin and what becomes of them, and sums
 * of products of four output channels at once, so that what is read from the input is used four times.
 *
 * A layer is a macro over the types of its input (in_t), weights (weight_t), products (each_t), sums (sum_t) and output
 * (out_t), the struct `finish_t` with the constants of its output channels, and macros: `zero_of(p)` is what the input
 * holds for the number zero, `add(sum, x, w)` adds a product to a sum, `start_of(f, c)` is where the sum of output channel c begins,
 * `finish_of(f, c, sum)` is what becomes of it, and `dots` defines how products are added up: MOTE_DOTS, or one of
 * mote_dots_s16.h. */
#ifndef MOTE_LAYER_H
#define MOTE_LAYER_H

#include "mote_dots_s16.h"
#include "mote_exact.h"
#include "mote_wide.h"

/* int16 outputs of sums of 32 or of 64 bits; lo..hi is the range of the fused activation. */
typedef struct {
    const int32_t *bias;
    const mote_wide_t *scale;
    int32_t lo, hi;
} mote_finish_wide32_t;

typedef struct {
    const int64_t *bias;
    const mote_wide_t *scale;
    int32_t lo, hi;
} mote_finish_wide64_t;

/* The same, rounded as in double precision. */
typedef struct {
    const int32_t *bias;
    const mote_exact_t *scale;
    int32_t lo, hi;
} mote_finish_exact32_t;

typedef struct {
    const int64_t *bias;
    const mote_exact_t *scale;
    int32_t lo, hi;
} mote_finish_exact64_t;

/* int16 outputs of sums that wrap in 32 bits; see mote_rescale. */
typedef struct {
    const mote_channel_t *channel;
    int32_t lo, hi;
} mote_finish_narrow_t;

/* int8 outputs. */
typedef struct {
    const mote_channel_t *channel;
    mote_output_t output;
} mote_finish_s8_t;

typedef struct {
    const float *bias;
    float low, high;
} mote_finish_f32_t;

/* float32 outputs of int8 weights, which stay a byte each in flash: their scale comes on top of the sum. */
typedef struct {
    const float *bias;
    const float *scale; /* of each channel's weights, or one for all */
    int32_t step;       /* from one channel's scale to the next: 0 where all have the same */
    float low, high;
} mote_finish_hybrid_t;

#define MOTE_LAYER_NO_ZERO(p) 0
#define MOTE_LAYER_ZERO(p) (p)->in_zero
#define MOTE_LAYER_ADD(sum, x, w) ((sum) + (x) * (w))
#define MOTE_LAYER_PLUS(sum, x, w) MOTE_PLUS(sum, (x) * (w))
#define MOTE_START_ZERO(f, c) 0.0f
#define MOTE_START_BIAS(f, c) (f)->bias[c]
#define MOTE_START_S8(f, c) (f)->channel[c].bias
#define MOTE_FINISH_WIDE(f, c, sum) \
    mote_clamp_s16(mote_rescale_wide(sum, (f)->scale[c].mult, (f)->scale[c].shift), (f)->lo, (f)->hi)
#define MOTE_FINISH_HIGH(f, c, sum) \
    mote_clamp_s16(mote_rescale_upper(sum, (f)->scale[c].mult, (f)->scale[c].shift), (f)->lo, (f)->hi)
#define MOTE_FINISH_EXACT(f, c, sum) (int16_t)mote_rescale_exact(sum, &(f)->scale[c], (f)->lo, (f)->hi)
#define MOTE_FINISH_NARROW(f, c, sum) \
    mote_clamp_s16(mote_rescale(sum, (f)->channel[c].mult, (f)->channel[c].shift), (f)->lo, (f)->hi)
#define MOTE_FINISH_S8(f, c, sum) mote_requantize(sum, (f)->channel[c].mult, (f)->channel[c].shift, (f)->output)
#define MOTE_FINISH_F32(f, c, sum) mote_clamp_f32((sum) + (f)->bias[c], (f)->low, (f)->high)
#define MOTE_FINISH_HYBRID(f, c, sum) \
    mote_clamp_f32((f)->bias[c] + (f)->scale[(c) * (f)->step] * (sum), (f)->low, (f)->high)

/* Adds products of `n` inputs with weights: of one output channel, and of four whose weights are `pitch` apart. */
#define MOTE_DOTS(name, in_t, weight_t, each_t, sum_t, add) \
    enum { mote_##name##_fours = 1 }; \
\
    MOTE_UNUSED static inline sum_t mote_##name##_dot(const in_t *x, const weight_t *w, int32_t n, each_t zero, \
                                                      sum_t sum) { \
        for (; n > 0; n--) { \
            sum = add(sum, *x++ - zero, *w++); \
        } \
        return sum; \
    } \
\
    MOTE_UNUSED static inline void mote_##name##_dots(const in_t *x, const weight_t *w, int32_t pitch, int32_t n, \
                                                      each_t zero, sum_t *sums) { \
        const weight_t *w1 = w + pitch, *w2 = w1 + pitch, *w3 = w2 + pitch; \
        sum_t a = sums[0], b = sums[1], c = sums[2], d = sums[3]; \
        for (; n > 0; n--) { \
            const each_t v = *x++ - zero; \
            a = add(a, v, *w++); \
            b = add(b, v, *w1++); \
            c = add(c, v, *w2++); \
            d = add(d, v, *w3++); \
        } \
        sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d; \
    }

/* One output channel at a time, in less code. */
#define MOTE_DOTS_ONE(name, in_t, weight_t, each_t, sum_t, add) \
    enum { mote_##name##_fours = 0 }; \
\
    MOTE_UNUSED static inline sum_t mote_##name##_dot(const in_t *x, const weight_t *w, int32_t n, each_t zero, \
                                                      sum_t sum) { \
        for (; n >= 4; n -= 4, x += 4, w += 4) { \
            sum = add(sum, x[0] - zero, w[0]); \
            sum = add(sum, x[1] - zero, w[1]); \
            sum = add(sum, x[2] - zero, w[2]); \
            sum = add(sum, x[3] - zero, w[3]); \
        } \
        for (; n > 0; n--) { \
            sum = add(sum, *x++ - zero, *w++); \
        } \
        return sum; \
    } \
\
    MOTE_UNUSED static inline void mote_##name##_dots(const in_t *x, const weight_t *w, int32_t pitch, int32_t n, \
                                                      each_t zero, sum_t *sums) { \
        for (int32_t i = 0; i < 4; i++, w += pitch) { \
            sums[i] = mote_##name##_dot(x, w, n, zero, sums[i]); \
        } \
    }

#endif
