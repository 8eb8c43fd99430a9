/* mote_plain_dot_s8.h: dot products of two pixels with two channels whose int8 weights lie as in the model, which learn.
 *
 * Inputs come less their zero point, as 16-bit numbers, four of one pixel and four of the other in turn, in an order that
 * suits the core; behind the last ones zeros, up to a multiple of four. */
#ifndef MOTE_PLAIN_DOT_S8_H
#define MOTE_PLAIN_DOT_S8_H

#include "mote_common.h"
#include "mote_plain_dot_s8_dsp.h"

/* One pixel's inputs: `to` is where its first ones go, MOTE_PLAIN_SECOND numbers further on for the second pixel. */
#ifndef mote_plain_inputs
#define MOTE_PLAIN_SECOND 4
static inline void mote_plain_inputs(const int8_t *from, int32_t depth, int32_t zero, int16_t *to) {
    for (int32_t k = 0; k < depth; k += 4, to += 8) {
        for (int32_t i = 0; i < 4; i++) {
            to[i] = k + i < depth ? (int16_t)(from[k + i] - zero) : 0;
        }
    }
}
#endif

/* sum[0..1]: both channels of the first pixel, sum[2..3]: of the second one. */
#ifndef mote_plain_dot_2x2
static inline void mote_plain_dot_2x2(const int16_t *x, const int8_t *w0, const int8_t *w1, int32_t depth,
                                      int32_t *sum) {
    for (int32_t k = 0; k < depth; k += 4, x += 8) {
        const int32_t left = mote_min(depth - k, 4);
        for (int32_t i = 0; i < left; i++) {
            sum[0] = MOTE_PLUS(sum[0], (int32_t)x[i] * w0[k + i]);
            sum[1] = MOTE_PLUS(sum[1], (int32_t)x[i] * w1[k + i]);
            sum[2] = MOTE_PLUS(sum[2], (int32_t)x[i + 4] * w0[k + i]);
            sum[3] = MOTE_PLUS(sum[3], (int32_t)x[i + 4] * w1[k + i]);
        }
    }
}
#endif

#endif
