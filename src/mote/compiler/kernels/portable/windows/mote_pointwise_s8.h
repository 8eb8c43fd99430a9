/* mote_pointwise_s8.h: 1x1 convolution, stride 1, and fully connected layers over many rows: each pixel
 * is a vector of its own, read where it lies. */
#ifndef MOTE_POINTWISE_S8_H
#define MOTE_POINTWISE_S8_H

#include "mote_gemm_s8.h"

typedef struct {
    mote_gemm_s8_t gemm;
} mote_pointwise_s8_t;

/* Over products and sizes as MOTE_CONV2D_S8 has them. */
#define MOTE_POINTWISE_S8(name, layer, gemm, products) \
    static inline void mote_##name(const mote_##name##_t *p, const int8_t *in, int8_t *out, int32_t pixels) { \
        const int32_t depth = p->gemm.depth, pixel = p->gemm.pixel; \
        for (; pixels > 1; pixels -= 2, in += 2 * depth, out += 2 * pixel) { \
            mote_##products##_2(&p->layer, in, in + depth, out); \
        } \
        if (pixels > 0) { \
            mote_##products##_1(&p->layer, in, out); \
        } \
    }

MOTE_POINTWISE_S8(pointwise_s8, gemm, gemm, gemm)

#endif
