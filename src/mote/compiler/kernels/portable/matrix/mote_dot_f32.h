/* mote_dot_f32.h: sums of float32 products. */
#ifndef MOTE_DOT_F32_H
#define MOTE_DOT_F32_H

#include "mote_common.h"

/* The products are added up one after another, as the reference does, so that nothing but what a core fuses differs. */
static inline float mote_dot_f32(float sum, const float *x, const float *w, int32_t n) {
    for (; n >= 4; n -= 4, x += 4, w += 4) {
        sum = mote_add_product_f32(sum, x[0], w[0]);
        sum = mote_add_product_f32(sum, x[1], w[1]);
        sum = mote_add_product_f32(sum, x[2], w[2]);
        sum = mote_add_product_f32(sum, x[3], w[3]);
    }
    for (; n > 0; n--) {
        sum = mote_add_product_f32(sum, *x++, *w++);
    }
    return sum;
}

#endif
