/* mote_cumsum_s8.h: running sums of int8 values along an axis, as TFLite Micro has them: with 19 bits after the point, in
 * 32 bits that wrap, and beginning with the negative zero point. The output may be the input. */
#ifndef MOTE_CUMSUM_S8_H
#define MOTE_CUMSUM_S8_H

#include "mote_cumsum.h"

typedef struct {
    mote_cumsum_t over;
    int32_t zero, out_zero;
    int32_t mult, shift; /* from a sum to the output: see mote_rescale */
} mote_cumsum_s8_t;

static inline void mote_cumsum_s8(const mote_cumsum_s8_t *p, const int8_t *in, int8_t *out, int32_t units) {
    const int32_t count = p->over.count, inner = p->over.inner;
    const int32_t begin = p->over.reverse ? (count - 1) * inner : 0, step = p->over.reverse ? -inner : inner;
    for (; units > 0; units--, in += (count - 1) * inner, out += (count - 1) * inner) {
        for (int32_t c = 0; c < inner; c++, in++, out++) {
            int32_t sum = -p->zero * ((int32_t)1 << 19);
            for (int32_t n = 0, i = begin; n < count; n++, i += step) {
                const int32_t before = sum;
                sum = mote_wrapping_add(sum, (in[i] - p->zero) * ((int32_t)1 << 19));
                const int32_t scaled = mote_rescale(p->over.exclusive ? before : sum, p->mult, p->shift);
                out[i] = mote_clamp(mote_wrapping_add(scaled, p->out_zero), -128, 127);
            }
        }
    }
}

#endif
