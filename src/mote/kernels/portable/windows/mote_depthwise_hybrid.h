/* mote_depthwise_hybrid.h: float32 depthwise convolution with int8 weights: see mote_depthwise_f32.h. */
#ifndef MOTE_DEPTHWISE_HYBRID_H
#define MOTE_DEPTHWISE_HYBRID_H

#include "mote_depthwise_f32.h"
#include "mote_dot_hybrid.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t in_channels, channels, multiplier;
    float low, high;
    const int8_t *weights; /* [kernel rows][kernel columns][channels] */
    const float *scale;    /* of each channel's weights, or one for all */
    int32_t step;          /* from one channel's scale to the next: 0 where all have the same */
    const float *bias;
} mote_depthwise_hybrid_t;

#define MOTE_ADD_HYBRID(sum, v, w) ((sum) + (v) * (float)(w))
MOTE_DEPTHWISE_REAL(depthwise_hybrid, int8_t, MOTE_ADD_HYBRID, MOTE_FINISH_HYBRID)

#endif
