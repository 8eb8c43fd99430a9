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
    for (int32_t o = 0; o < p->of.outputs; o++, weights += next) {
        const int32_t by = (gradient[o] * (int32_t)p->factor[o] + ((int32_t)1 << 10)) >> 11;
        if (by != 0) { /* about half of them are not, behind a RELU */
            for (int32_t c = 0; c < p->of.channels; c++) {
                sums[c] += by * weights[c];
            }
        }
    }
}

static inline void mote_conv_input_gradient_s8(const mote_conv_input_gradient_s8_t *p, const int8_t *gradient,
                                               const int8_t *weights, int8_t *out, void *scratch) {
    const mote_input_gradient_t *const of = &p->of;
    const int32_t next = of->rows.taps * of->cols.taps * of->channels;
    int32_t *const sums = (int32_t *)scratch;
    for (int32_t y = 0; y < of->rows.in; y++) {
        for (int32_t x = 0; x < of->cols.in; x++) {
            const int8_t *w = weights;
            for (int32_t c = 0; c < of->channels; c++) {
                sums[c] = 0;
            }
            for (int32_t ky = 0; ky < of->rows.taps; ky++) {
                const int32_t row = mote_gradient_output(&of->rows, y, ky);
                for (int32_t kx = 0; kx < of->cols.taps; kx++, w += of->channels) {
                    const int32_t column = mote_gradient_output(&of->cols, x, kx);
                    if (row >= 0 && column >= 0) {
                        const int8_t *const g = gradient + (row * of->cols.out + column) * of->outputs;
                        mote_conv_input_gradient_add(p, g, w, next, sums);
                    }
                }
            }
            for (int32_t c = 0; c < of->channels; c++) {
                *out++ = mote_clamp(mote_rescale(sums[c], p->mult, p->shift), -127, 127);
            }
        }
    }
}

static inline void mote_depthwise_input_gradient_s8(const mote_depthwise_input_gradient_s8_t *p, const int8_t *gradient,
                                                    const int8_t *weights, int8_t *out) {
    const mote_input_gradient_t *const of = &p->of;
    for (int32_t y = 0; y < of->rows.in; y++) {
        for (int32_t x = 0; x < of->cols.in; x++) {
            for (int32_t c = 0; c < of->channels; c++) {
                const int8_t *w = weights + c;
                int32_t sum = 0;
                for (int32_t ky = 0; ky < of->rows.taps; ky++) {
                    const int32_t row = mote_gradient_output(&of->rows, y, ky);
                    for (int32_t kx = 0; kx < of->cols.taps; kx++, w += of->channels) {
                        const int32_t column = mote_gradient_output(&of->cols, x, kx);
                        if (row >= 0 && column >= 0) {
                            sum += *w * gradient[(row * of->cols.out + column) * of->channels + c];
                        }
                    }
                }
                *out++ = mote_clamp(mote_rescale(sum, p->scale[c].mult, p->scale[c].shift), -127, 127);
            }
        }
    }
}

#endif
