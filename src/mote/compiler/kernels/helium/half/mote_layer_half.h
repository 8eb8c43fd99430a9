/* mote_layer_half.h: float32 convolutions and fully connected layers that compute in half precision (IEEE 754 binary16).
 *
 * Inputs of up to four windows are rounded to half precision once, for all channels. Products of eight channels are added
 * one after another in the order of the window, each with one rounding of sum and product together; then the bias is
 * added, the activation applied, and the result is a float32 again. Windows that hang over the image have zeros there.
 *
 * Channels lie in lanes 0, 2, 4, 6, 1, 3, 5, 7: so conversions of lower and upper halves give four in a row.
 */
#ifndef MOTE_LAYER_HALF_H
#define MOTE_LAYER_HALF_H

#include "mote_half_arithmetic.h"

typedef struct {
    int32_t depth, channels;
    float low, high;
    const uint16_t *weights; /* [eight channels][depth][8] */
    const uint16_t *bias;    /* [eight channels][8] */
} mote_half_gemm_t;

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t in_channels;
    mote_half_gemm_t gemm;
} mote_conv2d_half_t;

typedef struct {
    mote_half_gemm_t gemm;
} mote_fully_connected_half_t;

/* From one window to the next: an even number of inputs. */
static inline int32_t mote_half_pitch(int32_t depth) { return (depth + 1) / 2 * 2; }

/* All channels of one window, or of four that lie one after another. */
MOTE_NOINLINE void mote_half_windows(const mote_half_gemm_t *g, const uint16_t *x, int32_t windows, float *out) {
    const uint16_t *w = g->weights;
    uint16_t sums[4 * 8];
    float made[8];
    for (int32_t c = 0; c < g->channels; c += 8, w += 8 * g->depth) {
        const int32_t count = mote_min(g->channels - c, 8);
        if (windows == 4) {
            mote_half_sums4(x, mote_half_pitch(g->depth), w, g->depth, sums);
        } else {
            mote_half_sums1(x, w, g->depth, sums);
        }
        for (int32_t i = 0; i < windows; i++) {
            mote_half_finish(sums + 8 * i, g->bias + c, g->low, g->high, made);
            memcpy(out + i * g->channels + c, made, (size_t)count * sizeof *made);
        }
    }
}

/* The window under output column x. */
MOTE_NOINLINE void mote_half_gather(const mote_conv2d_half_t *p, const float *const *rows, int32_t x, uint16_t *to) {
    const mote_span_t *s = &p->cols;
    const int32_t first = x * s->step - s->pad, c = p->in_channels, line = s->taps * c;
    const int32_t lo = mote_min(mote_span_lo(s, first), s->taps), hi = mote_span_hi(s, first);
    const int32_t at_once = s->spread == 1 ? hi - lo : 1;
    for (int32_t k = 0; k < p->rows.taps; k++, to += line) {
        if (rows[k] == NULL || hi <= lo) {
            memset(to, 0, (size_t)line * sizeof *to);
            continue;
        }
        memset(to, 0, (size_t)(lo * c) * sizeof *to);
        for (int32_t t = lo; t < hi; t += at_once) {
            mote_half_of(rows[k] + (first + t * s->spread) * c, to + t * c, at_once * c);
        }
        memset(to + hi * c, 0, (size_t)(line - hi * c) * sizeof *to);
    }
}

MOTE_NOINLINE void mote_conv2d_half_row(const mote_conv2d_half_t *p, const float *const *rows, float *out,
                                        uint16_t *scratch) {
    const int32_t pitch = mote_half_pitch(p->gemm.depth);
    for (int32_t x = 0, windows; x < p->cols.out_size; x += windows, out += windows * p->gemm.channels) {
        windows = p->cols.out_size - x < 4 ? 1 : 4;
        for (int32_t i = 0; i < windows; i++) {
            mote_half_gather(p, rows, x + i, scratch + i * pitch);
        }
        mote_half_windows(&p->gemm, scratch, windows, out);
    }
}

MOTE_UNUSED static inline void mote_conv2d_half(const mote_conv2d_half_t *p, const float *in, float *out, int32_t lo,
                                                int32_t hi, uint16_t *scratch) {
    const float *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_f32(&p->rows, in, y, rows);
        mote_conv2d_half_row(p, rows, out + y * p->rows.out_stride, scratch);
    }
}

MOTE_NOINLINE void mote_fully_connected_half(const mote_fully_connected_half_t *p, const float *in, float *out,
                                             int32_t vectors, uint16_t *scratch) {
    const int32_t depth = p->gemm.depth, pitch = mote_half_pitch(depth);
    while (vectors > 0) {
        const int32_t windows = vectors < 4 ? 1 : 4;
        for (int32_t i = 0; i < windows; i++, in += depth) {
            mote_half_of(in, scratch + i * pitch, depth);
        }
        mote_half_windows(&p->gemm, scratch, windows, out);
        out += windows * p->gemm.channels;
        vectors -= windows;
    }
}

#endif
