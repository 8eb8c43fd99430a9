/* mote_add_n.h: the sum of several tensors of one shape. */
#ifndef MOTE_ADD_N_H
#define MOTE_ADD_N_H

#include "mote_common.h"

typedef struct {
    int32_t inputs;
    int32_t zeros;       /* the inputs' zero points, added up */
    int32_t mult, shift; /* of the sum; see mote_rescale */
    mote_output_t output;
} mote_add_n_t;

#define MOTE_ADD_N_HALF 19 /* int8 sums have 20 more bits, and are halved */

static inline void mote_add_n_s8(const mote_add_n_t *p, const int8_t *const *in, int8_t *out, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        int32_t sum = -p->zeros;
        for (int32_t k = 0; k < p->inputs; k++) {
            sum += in[k][i];
        }
        sum = mote_rescale(sum * ((int32_t)1 << MOTE_ADD_N_HALF), p->mult, p->shift) + p->output.zero;
        out[i] = mote_clamp(sum, p->output.lo, p->output.hi);
    }
}

static inline void mote_add_n_s32(const mote_add_n_t *p, const int32_t *const *in, int32_t *out, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        uint32_t sum = 0;
        for (int32_t k = 0; k < p->inputs; k++) {
            sum += (uint32_t)in[k][i];
        }
        out[i] = (int32_t)sum;
    }
}

static inline void mote_add_n_f32(const mote_add_n_t *p, const float *const *in, float *out, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        float sum = 0.0f;
        for (int32_t k = 0; k < p->inputs; k++) {
            sum += in[k][i];
        }
        out[i] = sum;
    }
}

/* The kernel for a known number of inputs of a type, as the function's parameters and their names say. */
#define MOTE_ADD_N(kind, inputs, type, parameters, ...) \
    typedef mote_add_n_t mote_add_##inputs##_##kind##_t; \
    MOTE_UNUSED static inline void mote_add_##inputs##_##kind parameters { \
        const type *const in[] = {__VA_ARGS__}; \
        mote_add_n_##kind(p, in, out, n); \
    }

#endif
