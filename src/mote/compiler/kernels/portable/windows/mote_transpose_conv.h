/* mote_transpose_conv.h: what the transposed convolutions share.
 *
 * Input pixel i is spread over output pixels i * stride - pad .. i * stride - pad + taps - 1. Output pixel o
 * is reached by input (o + pad) / stride and those before it, by every stride-th tap from (o + pad) % stride,
 * the phase of o.
 */
#ifndef MOTE_TRANSPOSE_CONV_H
#define MOTE_TRANSPOSE_CONV_H

#include "mote_common.h"

typedef struct {
    int32_t taps, stride, pad;
} mote_spread_t;

/* How many inputs can reach an output of a phase. */
static inline int32_t mote_spread_taps(const mote_spread_t *s, int32_t phase) {
    return phase < s->taps ? (s->taps - phase + s->stride - 1) / s->stride : 0;
}

#endif
