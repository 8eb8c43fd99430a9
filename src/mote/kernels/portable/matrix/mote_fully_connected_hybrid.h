/* mote_fully_connected_hybrid.h: float32 fully connected layer with int8 weights. */
#ifndef MOTE_FULLY_CONNECTED_HYBRID_H
#define MOTE_FULLY_CONNECTED_HYBRID_H

#include "mote_dot_hybrid.h"

typedef struct {
    int32_t depth, channels;
    float low, high;
    const int8_t *weights; /* [channels][depth] */
    const float *scale;    /* of each channel's weights, or one for all */
    int32_t step;          /* from one channel's scale to the next: 0 where all have the same */
    const float *bias;
} mote_fully_connected_hybrid_t;

static inline void mote_fully_connected_hybrid(const mote_fully_connected_hybrid_t *p, const float *in, float *out,
                                               int32_t vectors) {
    const int32_t depth = p->depth;
    for (; vectors > 0; vectors--, in += depth) {
        const int8_t *w = p->weights;
        for (int32_t c = 0; c < p->channels; c++, w += depth) {
            const float sum = mote_dot_hybrid(in, w, depth);
            *out++ = MOTE_FINISH_HYBRID(p, c, sum);
        }
    }
}

#endif
