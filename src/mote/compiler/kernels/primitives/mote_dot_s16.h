/* mote_dot_s16.h: products of int16 inputs, four or two at a time. */
#ifndef MOTE_DOT_S16_H
#define MOTE_DOT_S16_H

#include "mote_common.h"
#include "mote_dot_s16_dsp.h"

/* Four inputs, and the sum of their products with weights whose middle two are swapped. */
#ifndef mote_quad_add
typedef struct {
    int32_t a, b, c, d;
} mote_quad_s16_t;

static inline mote_quad_s16_t mote_quad_s16(const int16_t *x) {
    const mote_quad_s16_t quad = {x[0], x[1], x[2], x[3]};
    return quad;
}

static inline int32_t mote_quad_add(mote_quad_s16_t x, const int8_t *w, int32_t sum) {
    sum = MOTE_PLUS(sum, x.a * w[0]);
    sum = MOTE_PLUS(sum, x.b * w[2]);
    sum = MOTE_PLUS(sum, x.c * w[1]);
    return MOTE_PLUS(sum, x.d * w[3]);
}
#endif

/* Forgets the oldest number, remembers `newest`, and adds up all of them, weighted. Sums wrap, as LiteRT's do. */
#ifndef mote_remember_s16
MOTE_HOT static inline int32_t mote_remember_s16(int16_t *kept, const int16_t *w, int32_t memory, int32_t newest,
                                                   int32_t sum) {
    const int32_t last = memory - 1;
    for (int32_t i = 0; i < last; i++) {
        kept[i] = kept[i + 1];
        sum = mote_wrapping_add(sum, (int32_t)kept[i] * w[i]);
    }
    kept[last] = (int16_t)newest;
    return mote_wrapping_add(sum, newest * w[last]);
}
#endif

/* Adds n products of 16-bit numbers to two sums, from x and from `step` numbers behind it on. They fit 32 bits, but may
 * wrap in between. */
#ifndef mote_products_2_s16
MOTE_HOT static inline void mote_products_2_s16(const int16_t *x, int32_t step, const int16_t *w, int32_t n,
                                                int32_t *sum) {
    for (int32_t i = 0; i < n; i++) {
        sum[0] = mote_wrapping_add(sum[0], (int32_t)x[i] * w[i]);
        sum[1] = mote_wrapping_add(sum[1], (int32_t)x[i + step] * w[i]);
    }
}
#endif

#endif
