/* mote_fully_connected_f32.h: float32 fully connected layer. */
#ifndef MOTE_FULLY_CONNECTED_F32_H
#define MOTE_FULLY_CONNECTED_F32_H

#include "mote_common.h"

typedef struct {
    int32_t depth, channels;
    float low, high;
    const float *weights; /* [channels][depth] */
    const float *bias;
} mote_fully_connected_f32_t;

static inline void mote_fully_connected_f32(const mote_fully_connected_f32_t *p, const float *in, float *out,
                                            int32_t vectors) {
    for (; vectors > 0; vectors--, in += p->depth) {
        const float *w = p->weights;
        for (int32_t c = 0; c < p->channels; c++) {
            float sum = 0.0f;
            for (int32_t k = 0; k < p->depth; k++) {
                sum = mote_add_product_f32(sum, in[k], *w++);
            }
            *out++ = mote_clamp_f32(sum + p->bias[c], p->low, p->high);
        }
    }
}

#endif
