/* mote_depthwise_multiplier_input_gradient_s8.h: the int8 gradient of the images that a depthwise convolution reads
 * which makes several channels of each. */
#ifndef MOTE_DEPTHWISE_MULTIPLIER_INPUT_GRADIENT_S8_H
#define MOTE_DEPTHWISE_MULTIPLIER_INPUT_GRADIENT_S8_H

#include "mote_input_gradients_s8.h"

typedef struct {
    mote_input_gradient_t of;
    int32_t multiplier;             /* channels that are made of each */
    const int16_t *factor;          /* of each output channel, 15 bits behind the point */
    const mote_multiplier_t *scale; /* of each channel of the image */
} mote_depthwise_multiplier_input_gradient_s8_t;

/* What the output channels of one channel add to its sum at one tap. */
static inline int32_t mote_depthwise_multiplier_terms(const int8_t *gradient, const int8_t *weights,
                                                      const int16_t *factor, int32_t multiplier) {
    int32_t sum = 0;
    for (int32_t m = 0; m < multiplier; m++) {
        const int32_t by = (gradient[m] * (int32_t)factor[m] + ((int32_t)1 << 10)) >> 11;
        sum = mote_wrapping_add(sum, by * weights[m]); /* it fits: see the number of terms */
    }
    return sum;
}

/* Scratch: the taps of a pixel. */
static inline void mote_depthwise_multiplier_input_gradient_s8(const mote_depthwise_multiplier_input_gradient_s8_t *p,
                                                               const int8_t *gradient, const int8_t *weights,
                                                               int8_t *out, void *scratch) {
    const int32_t height = p->of.rows.in, width = p->of.cols.in, channels = p->of.channels, each = p->multiplier;
    mote_input_gradient_tap_t *const taps = (mote_input_gradient_tap_t *)scratch;
    for (int32_t y = 0; y < height; y++) {
        for (int32_t x = 0; x < width; x++) {
            const int32_t count = mote_input_gradient_taps(&p->of, y, x, taps);
            int8_t *const pixel = out + (y * width + x) * channels;
            for (int32_t c = 0; c < channels; c++) {
                const int8_t *const g = gradient + c * each, *const w = weights + c * each;
                int32_t sum = 0;
                for (int32_t k = 0; k < count; k++) {
                    const mote_input_gradient_tap_t t = taps[k];
                    const int32_t terms = mote_depthwise_multiplier_terms(g + t.gradient, w + t.weights,
                                                                          p->factor + c * each, each);
                    sum = mote_wrapping_add(sum, terms);
                }
                pixel[c] = mote_depthwise_input_gradient_of(sum, p->scale + c);
            }
        }
    }
}

#endif
