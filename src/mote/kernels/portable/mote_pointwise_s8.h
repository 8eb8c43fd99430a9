/* mote_pointwise_s8.h: 1x1 convolution, stride 1, and fully connected layers over many rows: each pixel
 * is a vector of its own, read where it lies. */
#ifndef MOTE_POINTWISE_S8_H
#define MOTE_POINTWISE_S8_H

#include "mote_gemm_s8.h"

typedef struct {
    mote_gemm_s8_t gemm;
} mote_pointwise_s8_t;

static inline void mote_pointwise_s8(const mote_pointwise_s8_t *p, const int8_t *in, int8_t *out, int32_t pixels) {
    const mote_gemm_s8_t *g = &p->gemm;
    const int32_t depth = g->depth, pixel = g->pixel;
    for (; pixels > 1; pixels -= 2, in += 2 * depth, out += 2 * pixel) {
        mote_gemm_2(g, in, in + depth, out);
    }
    if (pixels > 0) {
        mote_gemm_1(g, in, out);
    }
}

#endif
