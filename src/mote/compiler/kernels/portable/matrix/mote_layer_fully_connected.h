/* mote_layer_fully_connected.h: fully connected layer in any type; see mote_layer.h. */
#ifndef MOTE_LAYER_FULLY_CONNECTED_H
#define MOTE_LAYER_FULLY_CONNECTED_H

#include "mote_layer.h"

#define MOTE_LAYER_FULLY_CONNECTED(name, in_t, weight_t, each_t, sum_t, out_t, finish_t, zero_of, add, start_of, \
                                   finish_of, dots) \
    typedef struct { \
        int32_t depth, channels; \
        int32_t in_zero; \
        const weight_t *weights; /* [channels][depth] */ \
        finish_t finish; \
    } mote_##name##_t; \
\
    dots(name, in_t, weight_t, each_t, sum_t, add) \
\
    MOTE_NOINLINE void mote_##name(const mote_##name##_t *p, const in_t *in, out_t *out, int32_t vectors) { \
        const finish_t *f = &p->finish; \
        const int32_t depth = p->depth, channels = p->channels; \
        for (; vectors > 0; vectors--, in += depth, out += channels) { \
            const weight_t *w = p->weights; \
            int32_t c = 0; \
            for (; mote_##name##_fours && c + 4 <= channels; c += 4, w += 4 * depth) { \
                sum_t sums[4] = {start_of(f, c), start_of(f, c + 1), start_of(f, c + 2), start_of(f, c + 3)}; \
                mote_##name##_dots(in, w, depth, depth, zero_of(p), sums); \
                out[c] = finish_of(f, c, sums[0]); \
                out[c + 1] = finish_of(f, c + 1, sums[1]); \
                out[c + 2] = finish_of(f, c + 2, sums[2]); \
                out[c + 3] = finish_of(f, c + 3, sums[3]); \
            } \
            for (; c < channels; c++, w += depth) { \
                const sum_t sum = mote_##name##_dot(in, w, depth, zero_of(p), start_of(f, c)); \
                out[c] = finish_of(f, c, sum); \
            } \
        } \
    }

#endif
