/* mote_input_gradients_s8.h: int8 gradients of the images that convolutions read, from weights as they are now. */
#ifndef MOTE_INPUT_GRADIENTS_S8_H
#define MOTE_INPUT_GRADIENTS_S8_H

#include "mote_gradient_axis.h"

typedef struct {
    mote_gradient_axis_t rows, cols;
    int32_t outputs, channels; /* of the gradient that is given, and of the image's */
} mote_input_gradient_t;

typedef struct {
    mote_input_gradient_t of;
    int32_t mult, shift;   /* from sums to the gradient: see mote_rescale */
    const int16_t *factor; /* of each output channel, 15 bits behind the point */
} mote_conv_input_gradient_s8_t;

typedef struct {
    int32_t mult, shift;
} mote_multiplier_t;

typedef struct {
    mote_input_gradient_t of;
    const mote_multiplier_t *scale; /* of each channel */
} mote_depthwise_input_gradient_s8_t;

/* What the window's position (ky, kx) adds to the sums of a pixel. */
static inline void mote_conv_input_gradient_add(const mote_conv_input_gradient_s8_t *p, const int8_t *gradient,
                                                const int8_t *weights, int32_t next, int32_t *sums) {
    const int32_t outputs = p->of.outputs, channels = p->of.channels;
    for (int32_t o = 0; o < outputs; o++, weights += next) {
        const int32_t by = (gradient[o] * (int32_t)p->factor[o] + ((int32_t)1 << 10)) >> 11;
        if (by != 0) { /* about half of them are not, behind a RELU */
            for (int32_t c = 0; c < channels; c++) {
                sums[c] = mote_wrapping_add(sums[c], by * weights[c]); /* it fits: see the number of terms */
            }
        }
    }
}

static inline void mote_conv_input_gradient_s8(const mote_conv_input_gradient_s8_t *p, const int8_t *gradient,
                                               const int8_t *weights, int8_t *out, void *scratch) {
    const mote_input_gradient_t *const of = &p->of;
    const int32_t height = of->rows.in, width = of->cols.in, high = of->rows.taps, wide = of->cols.taps;
    const int32_t channels = of->channels, next = high * wide * channels;
    int32_t *const sums = (int32_t *)scratch;
    for (int32_t y = 0; y < height; y++) {
        for (int32_t x = 0; x < width; x++) {
            const int8_t *w = weights;
            int8_t *const pixel = out + (y * width + x) * channels;
            for (int32_t c = 0; c < channels; c++) {
                sums[c] = 0;
            }
            for (int32_t ky = 0; ky < high; ky++) {
                const int32_t row = mote_gradient_output(&of->rows, y, ky);
                for (int32_t kx = 0; kx < wide; kx++, w += channels) {
                    const int32_t column = mote_gradient_output(&of->cols, x, kx);
                    if (row >= 0 && column >= 0) {
                        const int8_t *const g = gradient + (row * of->cols.out + column) * of->outputs;
                        mote_conv_input_gradient_add(p, g, w, next, sums);
                    }
                }
            }
            for (int32_t c = 0; c < channels; c++) {
                pixel[c] = mote_clamp(mote_rescale(sums[c], p->mult, p->shift), -127, 127);
            }
        }
    }
}

/* A tap by which a pixel of the image is read: where its gradients and its weights begin. */
typedef struct {
    int32_t gradient, weights;
} mote_input_gradient_tap_t;

/* The taps of pixel (y, x), and how many there are. */
static inline int32_t mote_input_gradient_taps(const mote_input_gradient_t *of, int32_t y, int32_t x,
                                               mote_input_gradient_tap_t *taps) {
    const int32_t high = of->rows.taps, wide = of->cols.taps;
    int32_t count = 0;
    for (int32_t ky = 0; ky < high; ky++) {
        const int32_t row = mote_gradient_output(&of->rows, y, ky);
        for (int32_t kx = 0; kx < wide && row >= 0; kx++) {
            const int32_t column = mote_gradient_output(&of->cols, x, kx);
            if (column >= 0) {
                taps[count].gradient = (row * of->cols.out + column) * of->outputs;
                taps[count++].weights = (ky * wide + kx) * of->outputs;
            }
        }
    }
    return count;
}

/* Sums of four channels, and of one. */
MOTE_NOINLINE MOTE_HOT void mote_depthwise_input_gradient_4(const mote_input_gradient_tap_t *t, int32_t count,
                                                            const int8_t *gradient, const int8_t *weights, int32_t *sums) {
    int32_t a = 0, b = 0, c = 0, d = 0;
    for (; count > 0; count--, t++) {
        const int8_t *const g = gradient + t->gradient, *const w = weights + t->weights;
        a += w[0] * g[0];
        b += w[1] * g[1];
        c += w[2] * g[2];
        d += w[3] * g[3];
    }
    sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
}

static inline void mote_depthwise_input_gradient_1(const mote_input_gradient_tap_t *t, int32_t count,
                                                   const int8_t *gradient, const int8_t *weights, int32_t *sum) {
    *sum = 0;
    for (; count > 0; count--, t++) {
        *sum += weights[t->weights] * gradient[t->gradient];
    }
}

/* A sum as an element of the gradient. Multipliers are normalized. */
static inline int8_t mote_depthwise_input_gradient_of(int32_t sum, const mote_multiplier_t *s) {
    const int32_t y = s->shift < 0 ? mote_rescale(sum, s->mult, s->shift)
                                   : mote_shift_right(mote_high_mul_normal(sum, s->mult), s->shift);
    return mote_clamp(y, -127, 127);
}

/* Scratch: the taps of a pixel. */
static inline void mote_depthwise_input_gradient_s8(const mote_depthwise_input_gradient_s8_t *p, const int8_t *gradient,
                                                    const int8_t *weights, int8_t *out, void *scratch) {
    const mote_input_gradient_t *const of = &p->of;
    mote_input_gradient_tap_t *const taps = (mote_input_gradient_tap_t *)scratch;
    for (int32_t y = 0; y < of->rows.in; y++) {
        for (int32_t x = 0; x < of->cols.in; x++) {
            const int32_t count = mote_input_gradient_taps(of, y, x, taps);
            const mote_multiplier_t *scale = p->scale;
            int32_t c = 0, sums[4];
            for (; c + 4 <= of->channels; c += 4, scale += 4, out += 4) {
                mote_depthwise_input_gradient_4(taps, count, gradient + c, weights + c, sums);
                out[0] = mote_depthwise_input_gradient_of(sums[0], scale);
                out[1] = mote_depthwise_input_gradient_of(sums[1], scale + 1);
                out[2] = mote_depthwise_input_gradient_of(sums[2], scale + 2);
                out[3] = mote_depthwise_input_gradient_of(sums[3], scale + 3);
            }
            for (; c < of->channels; c++, scale++) {
                mote_depthwise_input_gradient_1(taps, count, gradient + c, weights + c, sums);
                *out++ = mote_depthwise_input_gradient_of(sums[0], scale);
            }
        }
    }
}

#endif
