/* mote_formula_f32.h: any function of one float32 tensor, element by element: a few expressions, one after another. */
#ifndef MOTE_FORMULA_F32_H
#define MOTE_FORMULA_F32_H

#include "mote_unary_f32.h"

/* One element, as the function for many computes it. */
static inline float mote_formula_hard_swish(float x) {
    const mote_hard_swish_f32_t none = {0};
    float y;
    mote_hard_swish_f32(&none, &x, &y, 1);
    return y;
}

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
