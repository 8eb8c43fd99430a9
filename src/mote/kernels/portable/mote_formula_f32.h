/* mote_formula_f32.h: any function of one float32 tensor, element by element: a few expressions, one after another. */
#ifndef MOTE_FORMULA_F32_H
#define MOTE_FORMULA_F32_H

#include <math.h>

#include "mote_unary_f32.h"

/* One element, as the functions for many compute it. */
#define MOTE_FORMULA_PART(name) \
    static inline float mote_formula_##name(float x) { \
        const mote_##name##_f32_t none = {0}; \
        float y; \
        mote_##name##_f32(&none, &x, &y, 1); \
        return y; \
    }

MOTE_FORMULA_PART(logistic)
MOTE_FORMULA_PART(tanh)
MOTE_FORMULA_PART(hard_swish)

/* The function whose result for x is the last one of the values that `steps` define. */
#define MOTE_FORMULA_F32(name, steps, result) \
    typedef struct { \
        int32_t unused; \
    } mote_##name##_t; \
    static inline void mote_##name(const mote_##name##_t *p, const float *in, float *out, int32_t n) { \
        (void)p; \
        for (; n > 0; n--) { \
            const float x = *in++; \
            steps; \
            *out++ = result; \
        } \
    }

#endif
