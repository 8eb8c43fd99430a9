/* mote_steps_s8.h: steps of int8 weights and int32 biases by their gradients, in place.
 *
 * Gradients are int8 numbers of one sample. A step is a sum times a factor of its channel times the size of the step
 * (mantissa, shift), rounded down or up by chance, which is a hash of the element and the number of the step. */
#ifndef MOTE_STEPS_S8_H
#define MOTE_STEPS_S8_H

#include "mote_gradient_axis.h"
#include "mote_momentum_s8.h"
#include "mote_step_rounding.h"

/* mult / 2^31 * 2^shift. */
typedef struct {
    int32_t mult, shift;
} mote_factor_t;

typedef struct {
    int32_t positions;           /* vectors of the gradient */
    int32_t all;                 /* their elements */
    int32_t first;               /* the first of them that the state has */
    int32_t channels;            /* how many it has */
    int32_t left;                /* sums are shifted left by so many bits */
    int32_t seed;                /* of the state's noise */
    const mote_factor_t *factor; /* of each channel */
} mote_step_t;

typedef struct {
    mote_step_t step;
    mote_gradient_axis_t rows, cols;
    int32_t depth; /* channels of the image */
    int32_t zero;  /* its zero point */
} mote_conv_step_t;

typedef mote_step_t mote_bias_step_s32_t;
typedef mote_conv_step_t mote_conv_step_s8_t, mote_depthwise_step_s8_t;

/* The step of an update, which is added to what learns. */
typedef struct {
    mote_step_t of;
    mote_momentum_t momentum;
} mote_bias_momentum_s32_t;

typedef struct {
    mote_conv_step_t of;
    mote_momentum_t momentum;
} mote_conv_momentum_t;
typedef mote_conv_momentum_t mote_conv_momentum_s8_t, mote_depthwise_momentum_s8_t;

/* A channel of a step: sums, shifted left, are multiplied by `mult` and divided by 2^right. */
typedef struct {
    int32_t mult, right;
    uint32_t noise; /* that of element 0, before it is mixed */
} mote_step_channel_t;

static inline mote_step_channel_t mote_step_channel(const mote_step_t *p, const int32_t *size, const int32_t *number,
                                                    int32_t channel) {
    const mote_factor_t f = p->factor[channel];
    mote_step_channel_t c;
    c.mult = mote_high_mul(f.mult, size[0]);
    c.right = p->left - mote_step_within(f.shift, 512) - mote_step_within(size[1], 512);
    c.noise = mote_step_seed(*number, p->seed);
    return c;
}

/* The element's step, at most 2^30. */
static inline int32_t mote_step_of(const mote_step_channel_t *c, int32_t sum, int32_t left, int32_t element) {
    int32_t x = mote_high_mul(sum * ((int32_t)1 << left), c->mult), right = c->right;
    if (right > 30) {
        x >>= mote_min(right - 30, 31);
        right = 30;
    }
    if (right > 0) {
        return (x + (int32_t)(mote_step_noise(c->noise, element) >> (32 - right))) >> right;
    }
    const int32_t up = mote_min(-right, 30), most = (int32_t)1 << (30 - up);
    return (int32_t)((uint32_t)mote_step_within(x, most) << up);
}

static inline void mote_step_weight(const mote_step_t *p, const mote_step_channel_t *c, int32_t sum, int32_t element,
                                    int8_t *weights) {
    const int32_t before = weights[element] < -127 ? -127 : weights[element];
    weights[element] = mote_clamp(mote_step_down(before, mote_step_of(c, sum, p->left, element)), -127, 127);
}

/* Operands: sums of the gradient, size, number; the bias is what is written. */
static inline void mote_bias_step_s32(const mote_step_t *p, const int32_t *sums, const int32_t *size,
                                      const int32_t *number, int32_t *bias) {
    const int32_t most = ((int32_t)1 << 30) - 1, largest = p->positions * 128;
    for (int32_t o = 0; o < p->channels; o++) {
        const mote_step_channel_t c = mote_step_channel(p, size, number, o);
        const int32_t sum = mote_step_within(sums[p->first + o], largest);
        const int32_t step = mote_step_of(&c, sum, p->left, o); /* at most 2^30, so that the difference fits */
        bias[o] = mote_step_within(mote_step_down(mote_step_within(bias[o], most), step), most);
    }
}

/* Operands: sums, size, number, update; the bias is what is written. */
static inline void mote_bias_momentum_s32(const mote_bias_momentum_s32_t *p, const int32_t *sums, const int32_t *size,
                                          const int32_t *number, int32_t *update, int32_t *bias) {
    mote_bias_step_s32(&p->of, sums, size, number, update);
    mote_momentum_s32(&p->momentum, number, update, bias);
}

/* A tap of a window: where it reads, and which gradients that is for. */
typedef struct {
    const int8_t *in, *gradient;
    int32_t rows, cols;
} mote_step_tap_t;

static inline mote_step_tap_t mote_step_tap(const mote_conv_step_t *p, int32_t ky, int32_t kx, const int8_t *gradient,
                                            const int8_t *in) {
    int32_t top, bottom, left, right;
    mote_step_tap_t tap;
    mote_gradient_inside(&p->rows, ky, &top, &bottom);
    mote_gradient_inside(&p->cols, kx, &left, &right);
    const int32_t row = top * p->rows.stride + ky * p->rows.spread - p->rows.pad;
    const int32_t column = left * p->cols.stride + kx * p->cols.spread - p->cols.pad;
    tap.rows = bottom - top;
    tap.cols = right - left;
    const int some = tap.rows > 0 && tap.cols > 0;
    tap.in = some ? in + (row * p->cols.in + column) * p->depth : in;
    tap.gradient = some ? gradient + (top * p->cols.out + left) * p->step.all : gradient;
    return tap;
}

/* The products of a channel of the gradient with `count` (1 or 4) channels of the image, over all positions. */
static inline void mote_step_sums(const mote_conv_step_t *p, const mote_step_tap_t *tap, int32_t o, int32_t c,
                                  int32_t count, int32_t *sums) {
    const int32_t next = p->cols.stride * p->depth;
    int32_t a0 = 0, a1 = 0, a2 = 0, a3 = 0, total = 0;
    for (int32_t y = 0; y < tap->rows && tap->cols > 0; y++) {
        const int8_t *g = tap->gradient + y * p->cols.out * p->step.all + o;
        const int8_t *x = tap->in + y * p->rows.stride * p->cols.in * p->depth + c;
        for (int32_t i = 0;;) {
            const int32_t by = *g;
            if (by != 0) { /* about half of them are not, behind a RELU */
                total += by;
                a0 += by * x[0];
                if (count == 4) {
                    a1 += by * x[1];
                    a2 += by * x[2];
                    a3 += by * x[3];
                }
            }
            if (++i == tap->cols) {
                break;
            }
            g += p->step.all;
            x += next;
        }
    }
    total *= p->zero;
    sums[0] = a0 - total;
    sums[1] = a1 - total;
    sums[2] = a2 - total;
    sums[3] = a3 - total;
}

/* Operands: gradient, image, size, number; the weights [out][kh][kw][in] are what is written. */
static inline void mote_conv_step_s8(const mote_conv_step_t *p, const int8_t *gradient, const int8_t *in,
                                     const int32_t *size, const int32_t *number, int8_t *weights) {
    const int32_t channels = p->step.channels, high = p->rows.taps, wide = p->cols.taps, depth = p->depth;
    const int32_t fours = depth - depth % 4;
    int32_t sums[4];
    for (int32_t o = 0; o < channels; o++) {
        const mote_step_channel_t channel = mote_step_channel(&p->step, size, number, o);
        for (int32_t ky = 0; ky < high; ky++) {
            for (int32_t kx = 0; kx < wide; kx++) {
                const mote_step_tap_t tap = mote_step_tap(p, ky, kx, gradient, in);
                const int32_t first = ((o * high + ky) * wide + kx) * depth;
                for (int32_t c = 0; c < fours; c += 4) {
                    mote_step_sums(p, &tap, p->step.first + o, c, 4, sums);
                    for (int32_t i = 0; i < 4; i++) {
                        mote_step_weight(&p->step, &channel, sums[i], first + c + i, weights);
                    }
                }
                for (int32_t c = fours; c < depth; c++) {
                    mote_step_sums(p, &tap, p->step.first + o, c, 1, sums);
                    mote_step_weight(&p->step, &channel, sums[0], first + c, weights);
                }
            }
        }
    }
}

/* Operands: gradient, image, size, number, update. */
static inline void mote_conv_momentum_s8(const mote_conv_momentum_t *p, const int8_t *gradient, const int8_t *in,
                                         const int32_t *size, const int32_t *number, int8_t *update, int8_t *weights) {
    mote_conv_step_s8(&p->of, gradient, in, size, number, update);
    mote_momentum_s8(&p->momentum, number, update, weights);
}

/* The products of four channels of the gradient with those of the image, over all positions. */
MOTE_NOINLINE MOTE_HOT void mote_step_sums_4(const mote_conv_step_t *p, const mote_step_tap_t *tap, int32_t o,
                                             int32_t *sums) {
    const int32_t all = p->step.all, next = p->cols.stride * p->depth, zero = p->zero;
    int32_t a = 0, b = 0, c = 0, d = 0;
    for (int32_t y = 0; y < tap->rows; y++) {
        const int8_t *g = tap->gradient + y * p->cols.out * all + o;
        const int8_t *x = tap->in + y * p->rows.stride * p->cols.in * p->depth + o;
        for (int32_t i = 0; i < tap->cols; i++) {
            a += g[i * all] * (x[i * next] - zero);
            b += g[i * all + 1] * (x[i * next + 1] - zero);
            c += g[i * all + 2] * (x[i * next + 2] - zero);
            d += g[i * all + 3] * (x[i * next + 3] - zero);
        }
    }
    sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
}

/* The same of weights [kh][kw][out], each of which reads one channel of the image. */
static inline void mote_depthwise_step_s8(const mote_conv_step_t *p, const int8_t *gradient, const int8_t *in,
                                          const int32_t *size, const int32_t *number, int8_t *weights) {
    const int32_t multiplier = p->step.channels / p->depth;
    int32_t element = 0, sums[4];
    for (int32_t ky = 0; ky < p->rows.taps; ky++) {
        for (int32_t kx = 0; kx < p->cols.taps; kx++) {
            const mote_step_tap_t tap = mote_step_tap(p, ky, kx, gradient, in);
            for (int32_t o = 0, some; o < p->step.channels; o += some) {
                some = multiplier == 1 && p->depth - o >= 4 ? 4 : 1;
                if (some == 4) {
                    mote_step_sums_4(p, &tap, o, sums);
                } else {
                    mote_step_sums(p, &tap, o, o / multiplier, 1, sums);
                }
                for (int32_t i = 0; i < some; i++, element++) {
                    const mote_step_channel_t channel = mote_step_channel(&p->step, size, number, o + i);
                    mote_step_weight(&p->step, &channel, sums[i], element, weights);
                }
            }
        }
    }
}

static inline void mote_depthwise_momentum_s8(const mote_conv_momentum_t *p, const int8_t *gradient, const int8_t *in,
                                              const int32_t *size, const int32_t *number, int8_t *update,
                                              int8_t *weights) {
    mote_depthwise_step_s8(&p->of, gradient, in, size, number, update);
    mote_momentum_s8(&p->momentum, number, update, weights);
}

#endif
