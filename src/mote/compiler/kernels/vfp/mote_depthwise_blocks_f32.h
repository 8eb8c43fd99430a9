/* mote_depthwise_blocks_f32.h: float32 depthwise convolution of any window, four pixels by four channels at once. */
#ifndef MOTE_DEPTHWISE_BLOCKS_F32_H
#define MOTE_DEPTHWISE_BLOCKS_F32_H

#include "mote_block_f32.h"

/* How many pixels from column x of the output on are computed at once: four where all of their windows lie inside the
 * image, else one. */
static inline int32_t mote_depthwise_blocks_pixels(const mote_span_t *s, int32_t x) {
    const int32_t first = x * s->step - s->pad, last = first + (MOTE_BLOCK - 1) * s->step + (s->taps - 1) * s->spread;
    return first >= 0 && last < s->in_size && s->out_size - x >= MOTE_BLOCK ? MOTE_BLOCK : 1;
}

#define MOTE_DEPTHWISE_BLOCKS(kind, weight_t) \
    typedef struct { \
        mote_window_t rows; \
        mote_span_t cols; \
        int32_t channels; \
        float low, high; \
        const weight_t *weights; /* [four channels][kernel rows][kernel columns][4], then those of one channel each */ \
        const float *bias; \
    } mote_depthwise_blocks_##kind##_t; \
\
    /* One of the channels that are left, whose inputs begin at `c`. */ \
    static inline float mote_depthwise_blocks_rest_##kind(const mote_depthwise_blocks_##kind##_t *p, \
                                                          const float *const *rows, int32_t c, int32_t first, \
                                                          int32_t lo, int32_t hi, const weight_t *w) { \
        float sum = 0.0f; \
        for (int32_t k = 0; k < p->rows.taps; k++, w += p->cols.taps) { \
            for (int32_t t = lo; t < hi && rows[k] != NULL; t++) { \
                const float x = rows[k][(first + t * p->cols.spread) * p->channels + c]; \
                sum = mote_add_product_f32(sum, x, mote_real_##kind(w[t])); \
            } \
        } \
        return sum; \
    } \
\
    MOTE_NOINLINE void mote_depthwise_blocks_##kind##_row(const mote_depthwise_blocks_##kind##_t *p, \
                                                          const float *const *rows, float *out) { \
        const mote_span_t *s = &p->cols; \
        const int32_t channels = p->channels, count = p->rows.taps, window = count * s->taps; \
        const int32_t step = s->spread * channels, blocks = channels - channels % MOTE_BLOCK; \
        float sums[MOTE_BLOCK * MOTE_BLOCK] = {0.0f}; \
        for (int32_t x = 0, pixels; x < s->out_size; x += pixels, out += pixels * channels) { \
            const int32_t first = x * s->step - s->pad, lo = mote_min(mote_span_lo(s, first), s->taps); \
            const int32_t n = mote_span_hi(s, first) - lo, start = (first + lo * s->spread) * channels; \
            const weight_t *w = p->weights; \
            pixels = mote_depthwise_blocks_pixels(s, x); \
            for (int32_t c = 0; c < blocks; c += MOTE_BLOCK, w += window * MOTE_BLOCK) { \
                if (pixels == MOTE_BLOCK) { \
                    mote_taps4_rows_##kind(rows, count, start + c, s->step * channels, step, w, n, sums); \
                } else if (n > 0) { \
                    mote_taps1_rows_##kind(rows, count, start + c, step, w + lo * MOTE_BLOCK, n, s->taps - n, sums); \
                } \
                mote_block_finish(sums, p->bias + c, p->low, p->high, out + c, channels, pixels); \
            } \
            for (int32_t c = blocks; c < channels; c++, w += window) { \
                for (int32_t j = 0; j < pixels; j++) { \
                    const float sum = mote_depthwise_blocks_rest_##kind(p, rows, c, first + j * s->step, lo, lo + n, w); \
                    out[j * channels + c] = mote_clamp_f32(sum + p->bias[c], p->low, p->high); \
                } \
            } \
        } \
    } \
\
    MOTE_BY_ROWS(depthwise_blocks_##kind, float, float, f32, rows)

MOTE_DEPTHWISE_BLOCKS(f32, float)

#endif
