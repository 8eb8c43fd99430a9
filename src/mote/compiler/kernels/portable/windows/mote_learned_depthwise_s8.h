/* mote_learned_depthwise_s8.h: int8 convolutions of each channel by itself whose weights and biases learn.
 *
 * Weights lie as in the model, [window][channel], in RAM.
 */
#ifndef MOTE_LEARNED_DEPTHWISE_S8_H
#define MOTE_LEARNED_DEPTHWISE_S8_H

#include "mote_learned_conv2d_s8.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t in_channels, multiplier; /* output channel c reads input channel c / multiplier */
    mote_learned_layer_t layer;
} mote_learned_depthwise_s8_t;

/* One output pixel into sums: the taps inside of the image, of which a row's begin at `first`. */
static inline void mote_learned_depthwise_tap(const mote_learned_depthwise_s8_t *p, const int8_t *from,
                                              const int8_t *weights, int32_t *sums) {
    const int32_t channels = p->layer.channels, zero = p->layer.in_zero;
    if (p->multiplier == 1) {
        for (int32_t c = 0; c < channels; c++) {
            sums[c] = MOTE_PLUS(sums[c], (from[c] - zero) * weights[c]);
        }
        return;
    }
    for (int32_t c = 0; c < channels; c++) {
        sums[c] = MOTE_PLUS(sums[c], (from[c / p->multiplier] - zero) * weights[c]);
    }
}

/* Scratch: a sum for each channel, of which mote_<made> makes the results. */
#define MOTE_LEARNED_DEPTHWISE_S8(name, made) \
    static inline void mote_##name##_line(const mote_##name##_t *p, const int8_t *const *rows, const int8_t *weights, \
                                          const int32_t *bias, int8_t *out, int32_t *sums) { \
        const mote_learned_layer_t *const layer = &p->layer; \
        const mote_span_t *const s = &p->cols; \
        const int32_t channels = layer->channels; \
        for (int32_t x = 0; x < s->out_size; x++, out += layer->pixel) { \
            const int32_t first = x * s->step - s->pad, lo = mote_span_lo(s, first), hi = mote_span_hi(s, first); \
            for (int32_t c = 0; c < channels; c++) { \
                sums[c] = mote_learned_start(layer, c, bias); \
            } \
            for (int32_t k = 0; k < p->rows.taps; k++) { \
                for (int32_t t = lo; rows[k] != NULL && t < hi; t++) { \
                    mote_learned_depthwise_tap(p, rows[k] + (first + t * s->spread) * p->in_channels, \
                                               weights + (k * s->taps + t) * channels, sums); \
                } \
            } \
            for (int32_t c = 0; c < channels; c++) { \
                out[c] = mote_##made(layer, c, sums[c]); \
            } \
        } \
    } \
\
    /* One output row: behind the rows of the window, pointers to the weights and to the biases. */ \
    static inline void mote_##name##_row(const mote_##name##_t *p, const int8_t *const *rows, int8_t *out, \
                                         int32_t *scratch) { \
        const int8_t *const *const learned = rows + p->rows.taps; \
        mote_##name##_line(p, rows, learned[0], (const int32_t *)(const void *)learned[1], out, scratch); \
    } \
\
    static inline void mote_##name(const mote_##name##_t *p, const int8_t *in, const int8_t *weights, \
                                   const int32_t *bias, int8_t *out, int32_t lo, int32_t hi, int32_t *scratch) { \
        const int8_t *rows[MOTE_MAX_TAPS]; \
        for (int32_t y = lo; y < hi; y++) { \
            mote_window_s8(&p->rows, in, y, rows); \
            mote_##name##_line(p, rows, weights, bias, out + y * p->rows.out_stride, scratch); \
        } \
    }

MOTE_LEARNED_DEPTHWISE_S8(learned_depthwise_s8, learned_result)

#endif
