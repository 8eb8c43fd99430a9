/* mote_grouped4_s8.h: int8 convolutions of groups of channels, two pixels and four channels at a time, for cores with
 * Helium.
 *
 * Parts of the input channels, a multiple of sixteen with one or several groups in them, are convolved with the output
 * channels of these groups as mote_gemm4_s8.h does with all channels. Weights are zero where an output channel is not of
 * the group of an input. The last part may overlap the one before. Windows have up to three rows, and output rows two
 * pixels at least. Working memory: the pixels under a pair, or the rows with their padding.
 */
#ifndef MOTE_GROUPED4_S8_H
#define MOTE_GROUPED4_S8_H

#include "mote_gemm4_s8.h"

typedef struct {
    mote_slide4_t slide;        /* `gemm` is that of the first part, but `channels` are all */
    int32_t groups, at_once;    /* groups, and how many of them a part has */
    int32_t inputs, outputs;    /* channels of a group */
    int32_t weights, constants; /* bytes and words from one part to the next */
} mote_grouped4_t;

#if MOTE_HELIUM
#define MOTE_GROUPED4_CODE(id, constants, taps, columns, step, read, depth, pixel, form, shift, text) \
    MOTE_LANES_CODE(mote_grouped4_code_##id, mote_gemm4_call_t, text)
#else
#define MOTE_GROUPED4_CODE(id, constants, taps, columns, step, read, depth, pixel, form, shift, text) \
    MOTE_NOINLINE void mote_grouped4_code_##id(mote_gemm4_call_t *call) { \
        mote_grouped4_c(call, taps, columns, step, read, depth, pixel, constants, mote_lane_##form, shift); \
    }

/* One pixel's products with the weights of a channel: as mote_slide4_sum, of the first `read` channels of `depth`. */
MOTE_ALWAYS_INLINE int32_t mote_grouped4_sum(const mote_gemm4_call_t *call, int32_t at, const int8_t *w, int32_t taps,
                                             int32_t columns, int32_t step, int32_t read, int32_t depth) {
    int32_t sum = 0;
    for (int32_t row = 0; row < taps; row++) {
        for (int32_t part = 0; part < read; part += 16) {
            for (int32_t first = 0; first < step; first++) {
                for (int32_t column = first; column < columns; column += step, w += 64) {
                    const int8_t *const in = call->rows[row] + (at + column) * depth + part;
                    for (int32_t j = 0; j < 16; j++) {
                        sum += in[j] * w[j];
                    }
                }
            }
        }
    }
    return sum;
}

MOTE_ALWAYS_INLINE void mote_grouped4_c(mote_gemm4_call_t *call, int32_t taps, int32_t columns, int32_t step,
                                        int32_t read, int32_t depth, int32_t pixel, int32_t count, mote_lane_t *line,
                                        int32_t shift) {
    const mote_gemm4_t *const g = call->layer;
    for (int32_t i = 0; i < 2 * call->pairs; i++) {
        for (int32_t four = 0; four < g->fours; four++) {
            int8_t *const out = call->out + i * pixel + mote_min(4 * four, g->last);
            for (int32_t c = 0; c < 4; c++) {
                const int8_t *const w = g->weights + 4 * taps * columns * read * four + 16 * c;
                const int32_t sum = mote_grouped4_sum(call, i * step, w, taps, columns, step, read, depth);
                out[c] = mote_gemm4_byte(g, four, c, sum, count, line, shift);
            }
        }
    }
}
#endif

/* All channels of some pairs, whose windows are in `rows` from column `first` on. */
MOTE_ALWAYS_INLINE void mote_grouped4_parts(const mote_grouped4_t *p, mote_gemm4_code_t *code, const int8_t *const *rows,
                                            int32_t first, int32_t pairs, int8_t *out) {
    mote_gemm4_t part = p->slide.gemm;
    mote_gemm4_call_t call = {&part, NULL, pairs, out, {0}};
    for (int32_t next = 0; next < p->groups; next += p->at_once) {
        const int32_t group = mote_min(next, p->groups - p->at_once);
        for (int32_t k = 0; k < p->slide.rows.taps; k++) {
            call.rows[k] = rows[k] + first * p->slide.depth + group * p->inputs;
        }
        call.out = out + group * p->outputs;
        code(&call);
        part.weights += p->weights;
        part.constants += p->constants;
    }
}

MOTE_ALWAYS_INLINE void mote_grouped4_row(const mote_grouped4_t *p, mote_gemm4_code_t *code, const int8_t *const *rows,
                                          int8_t *out, int8_t *copy) {
    const mote_slide4_t *const s = &p->slide;
    const int32_t width = s->cols.out_size, step = s->cols.step, taps = s->rows.taps;
    const int8_t *copies[4];
    int32_t inside = 1, pairs = 1;
    for (int32_t k = 0; k < taps; k++) {
        inside = rows[k] != NULL ? inside : 0;
        copies[k] = copy + k * s->span * s->depth;
    }
    for (int32_t x = 0; x < width; x += 2 * pairs) {
        x = mote_min(x, width - 2); /* the last pair may overlap the one before */
        const int32_t first = x * step - s->cols.pad, left = s->cols.in_size - s->span - first;
        const int32_t there = inside && first >= 0 && left >= 0;
        pairs = there ? mote_min((width - x) / 2, left / (2 * step) + 1) : 1;
        if (!there) {
            mote_slide4_copy(s, rows, first, copy);
        }
        mote_grouped4_parts(p, code, there ? rows : copies, there ? first : 0, pairs, out + x * s->gemm.channels);
    }
}

MOTE_ALWAYS_INLINE void mote_grouped4_rows(const mote_grouped4_t *p, mote_gemm4_code_t *code, const int8_t *in,
                                           const int8_t **rows, int8_t *out, int32_t lo, int32_t hi, int8_t *scratch) {
    const mote_slide4_t *const s = &p->slide;
    int32_t turn = 0;
    for (int32_t y = lo; y < hi; y++, out += s->rows.out_stride) {
        if (in != NULL) {
            mote_window_s8(&s->rows, in, y, rows);
        }
        if (s->padded.size > 0) {
            mote_padded_rows(&s->padded, &s->rows, s->zero, mote_padded_first(&s->rows, y, lo), &turn, rows, scratch);
        }
        mote_grouped4_row(p, code, rows, out, scratch);
    }
}

#define MOTE_GROUPED4(id) \
    typedef mote_grouped4_t mote_grouped4_##id##_t; \
    MOTE_NOINLINE void mote_grouped4_##id##_all(const mote_grouped4_t *p, const int8_t *in, const int8_t **rows, \
                                                int8_t *out, int32_t lo, int32_t hi, int8_t *scratch) { \
        mote_grouped4_rows(p, mote_grouped4_code_##id, in, rows, out, lo, hi, scratch); \
    } \
    MOTE_UNUSED static inline void mote_grouped4_##id##_row(const mote_grouped4_t *p, const int8_t **rows, int8_t *out, \
                                                            int8_t *scratch) { \
        mote_grouped4_##id##_all(p, NULL, rows, out, 0, 1, scratch); \
    } \
    MOTE_UNUSED static inline void mote_grouped4_##id(const mote_grouped4_t *p, const int8_t *in, int8_t *out, \
                                                      int32_t lo, int32_t hi, int8_t *scratch) { \
        const int8_t *rows[MOTE_MAX_TAPS]; \
        mote_grouped4_##id##_all(p, in, rows, out + lo * p->slide.rows.out_stride, lo, hi, scratch); \
    }

#endif
