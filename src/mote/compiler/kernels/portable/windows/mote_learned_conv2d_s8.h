/* mote_learned_conv2d_s8.h: int8 convolutions and fully connected layers whose weights and biases learn.
 *
 * Weights lie as in the model, [channel][window][input], in RAM. Inputs are widened less their zero point, so that nothing
 * of the weights has to be known but themselves. Two pixels and two channels at a time.
 */
#ifndef MOTE_LEARNED_CONV2D_S8_H
#define MOTE_LEARNED_CONV2D_S8_H

#include "mote_conv2d_s8.h"
#include "mote_exact.h"
#include "mote_plain_dot_s8.h"

typedef struct {
    int32_t depth, channels;
    int32_t pixel; /* from one output pixel to the next */
    int32_t in_zero;
    mote_output_t output;
    const mote_channel_t *channel; /* how sums are scaled, rounded twice; what it has as bias does not count */
    const mote_exact_t *exact;     /* or once; NULL: twice */
    const uint8_t *bits;           /* biases count in -2^bits..2^bits */
} mote_learned_layer_t;

static inline int8_t mote_learned_result(const mote_learned_layer_t *p, int32_t c, int32_t sum) {
    const mote_output_t *const o = &p->output;
    if (p->exact != NULL) {
        return (int8_t)(o->zero + mote_rescale_exact(sum, &p->exact[c], o->lo - o->zero, o->hi - o->zero));
    }
    return mote_requantize(sum, p->channel[c].mult, p->channel[c].shift, *o);
}

static inline int32_t mote_learned_start(const mote_learned_layer_t *p, int32_t c, const int32_t *bias) {
    const int32_t most = (int32_t)1 << p->bits[c];
    return bias[c] < -most ? -most : bias[c] > most ? most : bias[c];
}

typedef mote_learned_layer_t mote_learned_dense_s8_t;

typedef struct {
    mote_patch_t patch;
    mote_learned_layer_t layer;
} mote_learned_conv2d_s8_t;

/* One or two pixels, from their widened inputs, of which mote_<result> makes the results. An odd last channel is computed
 * twice. */
#define MOTE_LEARNED_PIXELS(name, result) \
    MOTE_NOINLINE void mote_##name(const mote_learned_layer_t *p, const int16_t *inputs, const int8_t *weights, \
                                   const int32_t *bias, int32_t count, int8_t *out) { \
        for (int32_t c = 0; c < p->channels; c += 2) { \
            const int32_t second = mote_min(c + 1, p->channels - 1); \
            const int32_t a = mote_learned_start(p, c, bias), b = mote_learned_start(p, second, bias); \
            int32_t sum[4] = {a, b, a, b}; \
            mote_plain_dot_2x2(inputs, weights + c * p->depth, weights + second * p->depth, p->depth, sum); \
            for (int32_t i = 0; i < count; i++) { \
                out[i * p->pixel + c] = mote_##result(p, c, sum[2 * i]); \
                out[i * p->pixel + second] = mote_##result(p, second, sum[2 * i + 1]); \
            } \
        } \
    }

/* Vectors one after another: fully connected layers. Scratch: the widened inputs of two. */
#define MOTE_LEARNED_DENSE_S8(name, pixels) \
    static inline void mote_##name(const mote_##name##_t *p, const int8_t *in, const int8_t *weights, \
                                   const int32_t *bias, int8_t *out, int32_t vectors, int16_t *scratch) { \
        for (; vectors > 0; vectors -= 2, in += 2 * p->depth, out += 2 * p->pixel) { \
            const int8_t *const next = vectors > 1 ? in + p->depth : in; \
            mote_plain_inputs(in, p->depth, p->in_zero, scratch); \
            mote_plain_inputs(next, p->depth, p->in_zero, scratch + MOTE_PLAIN_SECOND); \
            mote_##pixels(p, scratch, weights, bias, mote_min(vectors, 2), out); \
        } \
    }

/* Any window. Scratch: the widened inputs of two pixels, then a window. */
#define MOTE_LEARNED_CONV2D_S8(name, pixels) \
    static inline void mote_##name##_line(const mote_##name##_t *p, const int8_t *const *rows, const int8_t *weights, \
                                          const int32_t *bias, int8_t *out, int16_t *scratch) { \
        const mote_learned_layer_t *const layer = &p->layer; \
        int8_t *const window = (int8_t *)(scratch + (layer->depth + 3) / 4 * 8); \
        const int32_t width = p->patch.cols.out_size; \
        for (int32_t x = 0; x < width; x += 2) { \
            mote_gather(&p->patch, rows, x, window); \
            mote_plain_inputs(window, layer->depth, layer->in_zero, scratch); \
            if (x + 1 < width) { \
                mote_gather(&p->patch, rows, x + 1, window); \
            } \
            mote_plain_inputs(window, layer->depth, layer->in_zero, scratch + MOTE_PLAIN_SECOND); \
            mote_##pixels(layer, scratch, weights, bias, mote_min(width - x, 2), out + x * layer->pixel); \
        } \
    } \
\
    /* One output row: behind the rows of the window, pointers to the weights and to the biases. */ \
    static inline void mote_##name##_row(const mote_##name##_t *p, const int8_t *const *rows, int8_t *out, \
                                         int16_t *scratch) { \
        const int8_t *const *const learned = rows + p->patch.rows.taps; \
        mote_##name##_line(p, rows, learned[0], (const int32_t *)(const void *)learned[1], out, scratch); \
    } \
\
    static inline void mote_##name(const mote_##name##_t *p, const int8_t *in, const int8_t *weights, \
                                   const int32_t *bias, int8_t *out, int32_t lo, int32_t hi, int16_t *scratch) { \
        const int8_t *rows[MOTE_MAX_TAPS]; \
        for (int32_t y = lo; y < hi; y++) { \
            mote_window_s8(&p->patch.rows, in, y, rows); \
            mote_##name##_line(p, rows, weights, bias, out + y * p->patch.rows.out_stride, scratch); \
        } \
    }

MOTE_LEARNED_PIXELS(learned_pixels, learned_result)
MOTE_LEARNED_DENSE_S8(learned_dense_s8, learned_pixels)
MOTE_LEARNED_CONV2D_S8(learned_conv2d_s8, learned_pixels)

#endif
