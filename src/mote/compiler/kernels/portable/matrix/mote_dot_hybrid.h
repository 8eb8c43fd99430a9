/* mote_dot_hybrid.h: float32 times int8 weights, which stay a byte each in flash: they become numbers when they are
 * read, and their scale comes on top of the sum. */
#ifndef MOTE_DOT_HYBRID_H
#define MOTE_DOT_HYBRID_H

#include "mote_common.h"

/* Four sums at once keep the multiplier busy; the order of additions is fixed. */
static inline float mote_dot_hybrid(const float *x, const int8_t *w, int32_t n) {
    float a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
    for (; n >= 4; n -= 4, x += 4, w += 4) {
        a += x[0] * (float)w[0];
        b += x[1] * (float)w[1];
        c += x[2] * (float)w[2];
        d += x[3] * (float)w[3];
    }
    for (; n > 0; n--) {
        a += *x++ * (float)*w++;
    }
    return (a + b) + (c + d);
}

#endif
