/* mote_linear_s16.h: RELU and its kin, LEAKY_RELU and ABS of int16 tensors with the zero point 0. */
#ifndef MOTE_LINEAR_S16_H
#define MOTE_LINEAR_S16_H

#include "mote_fixed_s16.h"

typedef struct {
    int32_t mult, shift; /* see mote_rescale */
    int32_t lo, hi;
} mote_relu_s16_t;

typedef struct {
    int32_t mult, shift;
    int32_t below_mult, below_shift; /* zero, without the slope's sign */
    int32_t falls;                   /* the slope below zero is negative */
} mote_leaky_relu_s16_t;

typedef struct {
    int32_t mult, shift;
} mote_abs_s16_t;

static inline void mote_relu_s16(const mote_relu_s16_t *p, const int16_t *in, int16_t *out, int32_t n) {
    const int32_t mult = p->mult, shift = p->shift, lo = p->lo, hi = p->hi;
    for (; n > 0; n--) {
        const int32_t y = mote_rescale(*in++, mult, shift);
        *out++ = (int16_t)(y < lo ? lo : y > hi ? hi : y);
    }
}

static inline void mote_leaky_relu_s16(const mote_leaky_relu_s16_t *p, const int16_t *in, int16_t *out, int32_t n) {
    for (; n > 0; n--) {
        const int32_t x = *in++;
        int32_t y;
        if (x >= 0) {
            y = mote_rescale(x, p->mult, p->shift);
        } else {
            y = mote_rescale(x, p->below_mult, p->below_shift);
            y = p->falls ? -y : y;
        }
        *out++ = (int16_t)mote_saturate_s16(y);
    }
}

static inline void mote_abs_s16(const mote_abs_s16_t *p, const int16_t *in, int16_t *out, int32_t n) {
    const int32_t mult = p->mult, shift = p->shift;
    for (; n > 0; n--) {
        const int32_t x = *in++;
        *out++ = (int16_t)mote_saturate_s16(mote_rescale(x < 0 ? -x : x, mult, shift));
    }
}

#endif
