/* mote_conv2d_hybrid.h: float32 convolution with int8 weights: see mote_conv2d_f32.h. */
#ifndef MOTE_CONV2D_HYBRID_H
#define MOTE_CONV2D_HYBRID_H

#include "mote_conv2d_f32.h"
#include "mote_dot_hybrid.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t in_channels, out_channels;
    float low, high;       /* the fused activation */
    const int8_t *weights; /* [out][kernel rows][kernel columns][in] */
    const float *scale;    /* of each channel's weights, or one for all */
    int32_t step;          /* from one channel's scale to the next: 0 where all have the same */
    const float *bias;
} mote_conv2d_hybrid_t;

#define MOTE_ADD_DOT_HYBRID(sum, x, w, n) ((sum) + mote_dot_hybrid(x, w, n))
MOTE_CONV2D_REAL(conv2d_hybrid, int8_t, MOTE_ADD_DOT_HYBRID, MOTE_FINISH_HYBRID)

#endif
