/* mote_layer_projection.h: fully connected layer with weights that are given at run time, in any type; see
 * mote_layer.h. */
#ifndef MOTE_LAYER_PROJECTION_H
#define MOTE_LAYER_PROJECTION_H

#include "mote_layer.h"

/* int8 outputs, rounded as in double precision; lo..hi is the range of the fused activation less the zero point. */
typedef struct {
    const int32_t *bias;
    const mote_exact_t *scale;
    int32_t zero, lo, hi;
} mote_finish_exact8_t;

#define MOTE_FINISH_EXACT8(f, c, sum) \
    (int8_t)((f)->zero + mote_rescale_exact(sum, &(f)->scale[c], (f)->lo, (f)->hi))
#define MOTE_LAYER_WEIGHT_ZERO(p) (p)->weight_zero

/* `weights` are [channels][depth]; weight_zero_of(p) is what they hold for the number zero. */
#define MOTE_LAYER_PROJECTION(name, in_t, weight_t, each_t, sum_t, out_t, finish_t, zero_of, add, start_of, \
                              finish_of, weight_zero_of) \
    typedef struct { \
        int32_t depth, channels; \
        int32_t in_zero, weight_zero; \
        finish_t finish; \
    } mote_##name##_t; \
\
    MOTE_NOINLINE void mote_##name(const mote_##name##_t *p, const in_t *in, const weight_t *weights, out_t *out, \
                                   int32_t vectors) { \
        const finish_t *f = &p->finish; \
        const each_t zero = zero_of(p), weight_zero = weight_zero_of(p); \
        for (; vectors > 0; vectors--, in += p->depth) { \
            const weight_t *w = weights; \
            for (int32_t c = 0; c < p->channels; c++) { \
                sum_t sum = start_of(f, c); \
                for (int32_t k = 0; k < p->depth; k++) { \
                    sum = add(sum, in[k] - zero, *w++ - weight_zero); \
                } \
                *out++ = finish_of(f, c, sum); \
            } \
        } \
    }

#endif
