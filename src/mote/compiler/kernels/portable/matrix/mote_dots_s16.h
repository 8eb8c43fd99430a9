/* mote_dots_s16.h: sums of products of int16 inputs and int8 weights, four inputs at a time.
 *
 * The compiler swaps the middle two of each four weights: one instruction then widens those of neighbouring inputs.
 * What is left over behind the last four is in order. */
#ifndef MOTE_DOTS_S16_H
#define MOTE_DOTS_S16_H

#include "mote_dot_s16.h"

#define MOTE_MOST_QUADS 256 /* so many products at a time fit 32 bits, whatever they are */

/* Adds products of `n` inputs: of one output channel, and of four whose weights are `pitch` apart. */
static inline int32_t mote_dot_s16(const int16_t *x, const int8_t *w, int32_t n, int32_t sum) {
    for (; n >= 4; n -= 4, x += 4, w += 4) {
        sum = mote_quad_add(mote_quad_s16(x), w, sum);
    }
    for (; n > 0; n--) {
        sum = MOTE_PLUS(sum, (int32_t)*x++ * *w++);
    }
    return sum;
}

static inline void mote_dots_s16(const int16_t *x, const int8_t *w, int32_t pitch, int32_t n, int32_t *sums) {
    const int8_t *w1 = w + pitch, *w2 = w1 + pitch, *w3 = w2 + pitch;
    int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];
    for (; n >= 4; n -= 4, x += 4, w += 4, w1 += 4, w2 += 4, w3 += 4) {
        const mote_quad_s16_t quad = mote_quad_s16(x);
        a = mote_quad_add(quad, w, a);
        b = mote_quad_add(quad, w1, b);
        c = mote_quad_add(quad, w2, c);
        d = mote_quad_add(quad, w3, d);
    }
    for (; n > 0; n--) {
        const int32_t v = *x++;
        a = MOTE_PLUS(a, v * *w++);
        b = MOTE_PLUS(b, v * *w1++);
        c = MOTE_PLUS(c, v * *w2++);
        d = MOTE_PLUS(d, v * *w3++);
    }
    sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
}

/* What MOTE_DOTS of mote_layer.h defines, with sums of 32 bits, */
#define MOTE_DOTS_QUADS32(name, in_t, weight_t, each_t, sum_t, add) \
    enum { mote_##name##_fours = 1 }; \
\
    MOTE_UNUSED static inline int32_t mote_##name##_dot(const int16_t *x, const int8_t *w, int32_t n, int32_t zero, \
                                                        int32_t sum) { \
        (void)zero; \
        return mote_dot_s16(x, w, n, sum); \
    } \
\
    MOTE_UNUSED static inline void mote_##name##_dots(const int16_t *x, const int8_t *w, int32_t pitch, int32_t n, \
                                                      int32_t zero, int32_t *sums) { \
        (void)zero; \
        mote_dots_s16(x, w, pitch, n, sums); \
    }

/* and of 64 bits, in parts that fit 32. */
#define MOTE_DOTS_QUADS64(name, in_t, weight_t, each_t, sum_t, add) \
    enum { mote_##name##_fours = 1 }; \
\
    MOTE_UNUSED static inline int64_t mote_##name##_dot(const int16_t *x, const int8_t *w, int32_t n, int32_t zero, \
                                                        int64_t sum) { \
        (void)zero; \
        for (int32_t i = 0; i < n; i += MOTE_MOST_QUADS) { \
            sum += mote_dot_s16(x + i, w + i, mote_min(n - i, MOTE_MOST_QUADS), 0); \
        } \
        return sum; \
    } \
\
    MOTE_UNUSED static inline void mote_##name##_dots(const int16_t *x, const int8_t *w, int32_t pitch, int32_t n, \
                                                      int32_t zero, int64_t *sums) { \
        (void)zero; \
        for (int32_t i = 0; i < n; i += MOTE_MOST_QUADS) { \
            int32_t parts[4] = {0}; \
            mote_dots_s16(x + i, w + i, pitch, mote_min(n - i, MOTE_MOST_QUADS), parts); \
            for (int32_t k = 0; k < 4; k++) { \
                sums[k] += parts[k]; \
            } \
        } \
    }

#endif
