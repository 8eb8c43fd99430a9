/* mote_gemm4_s8.h: int8 convolution two pixels and four channels at a time, for cores with Helium.
 *
 * One instruction adds sixteen products to a sum in a core register. Eight of these are sums: four channels of two
 * pixels. They become the lanes of two vectors, are requantized there, and leave as four bytes each, all of it between
 * the products of the next pair. The code depends on how pixels lie and comes from the compiler
 * (helium/gemm/gemm_assembly.py); here is what surrounds it, and what it means in C.
 */
#ifndef MOTE_GEMM4_S8_H
#define MOTE_GEMM4_S8_H

#include "mote_bytes.h"
#include "mote_lanes.h"
#include "mote_padded_rows.h"

typedef struct {
    const int8_t *weights;    /* [channels in fours][steps of sixteen inputs][four][sixteen] */
    const int32_t *constants; /* those of mote_lanes.h: [channels in fours][constants][four] */
    int32_t fours, last;      /* channels in fours, and where the last four begin, which may have some of those before */
    mote_lanes_t lanes;
    int32_t channels;
} mote_gemm4_t;

/* Pairs of pixels, whose outputs lie behind one another. */
typedef struct {
    const mote_gemm4_t *layer;
    const int8_t *in;
    int32_t pairs;
    int8_t *out;
    const int8_t *rows[4]; /* under the windows of the first pair, instead of `in`: three of them */
} mote_gemm4_call_t;

typedef void mote_gemm4_code_t(mote_gemm4_call_t *call);

#if MOTE_HELIUM
#define MOTE_GEMM4_CODE(id, constants, steps, apart, pixel, form, shift, text) \
    MOTE_LANES_CODE(mote_gemm4_##id, mote_gemm4_call_t, text)
#define MOTE_SLIDE4_CODE(id, constants, taps, columns, step, depth, pixel, form, shift, text) \
    MOTE_LANES_CODE(mote_slide4_##id, mote_gemm4_call_t, text)
#else
#define MOTE_GEMM4_CODE(id, constants, steps, apart, pixel, form, shift, text) \
    MOTE_NOINLINE void mote_gemm4_##id(mote_gemm4_call_t *call) { \
        mote_gemm4(call, steps, apart, pixel, constants, mote_lane_##form, shift); \
    }
#define MOTE_SLIDE4_CODE(id, constants, taps, columns, step, depth, pixel, form, shift, text) \
    MOTE_NOINLINE void mote_slide4_##id(mote_gemm4_call_t *call) { \
        mote_slide4(call, taps, columns, step, depth, pixel, constants, mote_lane_##form, shift); \
    }

/* One of four channels, by its sum. */
MOTE_ALWAYS_INLINE int8_t mote_gemm4_byte(const mote_gemm4_t *g, int32_t four, int32_t lane, int32_t sum, int32_t count,
                                          mote_lane_t *line, int32_t shift) {
    int32_t constants[3] = {0, 0, 0};
    for (int32_t i = 0; i < count; i++) {
        constants[i] = g->constants[4 * (four * count + i) + lane];
    }
    return line(&g->lanes, sum, constants, shift);
}

MOTE_ALWAYS_INLINE void mote_gemm4(mote_gemm4_call_t *call, int32_t steps, int32_t apart, int32_t pixel, int32_t count,
                                   mote_lane_t *line, int32_t shift) {
    const mote_gemm4_t *const g = call->layer;
    for (int32_t i = 0; i < 2 * call->pairs; i++) {
        for (int32_t four = 0; four < g->fours; four++) {
            int8_t *const out = call->out + i * pixel + mote_min(4 * four, g->last);
            for (int32_t c = 0; c < 4; c++) {
                const int8_t *const w = g->weights + 64 * steps * four + 16 * c;
                int32_t sum = 0;
                for (int32_t k = 0; k < 16 * steps; k++) {
                    sum += call->in[i * apart + k] * w[k / 16 * 64 + k % 16];
                }
                out[c] = mote_gemm4_byte(g, four, c, sum, count, line, shift);
            }
        }
    }
}

/* One pixel's products with the weights of a channel that lie from w on: [rows][vectors][columns][four][sixteen], with
 * the columns of a window in the order 0, step, .., 1, step + 1, .. */
MOTE_ALWAYS_INLINE int32_t mote_slide4_sum(const mote_gemm4_call_t *call, int32_t at, const int8_t *w, int32_t taps,
                                           int32_t columns, int32_t step, int32_t depth) {
    int32_t sum = 0;
    for (int32_t row = 0; row < taps; row++) {
        for (int32_t part = 0; part < depth; part += 16) {
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

MOTE_ALWAYS_INLINE void mote_slide4(mote_gemm4_call_t *call, int32_t taps, int32_t columns, int32_t step, int32_t depth,
                                    int32_t pixel, int32_t count, mote_lane_t *line, int32_t shift) {
    const mote_gemm4_t *const g = call->layer;
    for (int32_t i = 0; i < 2 * call->pairs; i++) {
        for (int32_t four = 0; four < g->fours; four++) {
            int8_t *const out = call->out + i * pixel + mote_min(4 * four, g->last);
            for (int32_t c = 0; c < 4; c++) {
                const int8_t *const w = g->weights + 4 * taps * columns * depth * four + 16 * c;
                const int32_t sum = mote_slide4_sum(call, i * step, w, taps, columns, step, depth);
                out[c] = mote_gemm4_byte(g, four, c, sum, count, line, shift);
            }
        }
    }
}
#endif

/* Pairs of pixels which all lie behind one another. */
MOTE_ALWAYS_INLINE void mote_gemm4_run(const mote_gemm4_t *g, mote_gemm4_code_t *code, const int8_t *in, int8_t *out,
                                       int32_t pairs) {
    mote_gemm4_call_t call = {g, in, pairs, out, {0}};
    code(&call);
}

/* Bytes of the outputs of a pair, in whole words. */
static inline int32_t mote_gemm4_both(const mote_gemm4_t *g) { return (2 * g->channels + 3) / 4 * 4; }

/* The outputs of the first pixel of a pair at `both`: those of all channels, or of four. */
MOTE_ALWAYS_INLINE void mote_gemm4_first(const mote_gemm4_t *g, int8_t *out, const int8_t *both) {
    mote_bytes_copy(out, both, mote_min(g->channels, 4 * g->fours));
}

/* A 1x1 convolution. Pixels are read as they lie, in vectors of sixteen inputs; those of a last pair that would read
 * behind the end, or that has one pixel, are copied. Working memory: the pixels of a pair and a vector, if they are; the
 * outputs of a pair, where rows have one pixel. */
typedef struct {
    int32_t depth, apart;          /* inputs of a pixel; bytes from one to the next */
    int32_t behind;                /* pixels that the vectors of the one before them reach into */
    int32_t width;                 /* pixels of a row */
    int32_t step;                  /* input rows from one to the next */
    int32_t in_stride, out_stride; /* bytes of a row */
    mote_gemm4_t gemm;
} mote_pointwise4_t;

MOTE_ALWAYS_INLINE void mote_pointwise4(const mote_pointwise4_t *p, mote_gemm4_code_t *code, const int8_t *in,
                                        int8_t *out, int32_t pixels, int8_t *copy) {
    const mote_gemm4_t *const g = &p->gemm;
    const int32_t apart = p->apart, pairs = pixels > p->behind ? (pixels - p->behind) / 2 : 0;
    if (pairs > 0) {
        mote_gemm4_run(g, code, in, out, pairs);
    }
    for (int32_t done = 2 * pairs; done < pixels; done += 2) {
        const int32_t first = done + 2 <= pixels ? done : pixels > 2 ? pixels - 2 : 0;
        const int32_t count = mote_min(pixels - first, 2);
        const int8_t *from = in + first * apart;
        if (p->behind > 0 || count < 2) {
            for (int32_t i = 0; i < count; i++) {
                mote_bytes_copy(copy + i * apart, from + i * apart, p->depth);
            }
            from = copy;
        }
        if (count == 2) {
            mote_gemm4_run(g, code, from, out + first * g->channels, 1);
        } else {
            mote_gemm4_run(g, code, from, copy + 2 * apart + 16, 1);
            mote_gemm4_first(g, out, copy + 2 * apart + 16);
        }
    }
}

/* Windows of up to three rows over pixels whose channels are whole vectors: columns are read where they lie. Pairs at
 * the edge of the image are copied, with their padding, or all rows are. Working memory: the outputs of a pair, where
 * rows have one pixel; the pixels under a pair, or the rows. */
typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t depth, zero; /* channels of a pixel; what padding holds */
    int32_t span;        /* columns under a pair */
    mote_padded_t padded;
    mote_gemm4_t gemm;
} mote_slide4_t;

/* The pixels from column `first` on under a pair. */
MOTE_NOINLINE void mote_slide4_copy(const mote_slide4_t *p, const int8_t *const *rows, int32_t first, int8_t *to) {
    const int32_t depth = p->depth, size = p->span * depth, width = p->cols.in_size;
    const int32_t lo = first < 0 ? -first : 0, hi = mote_min(p->span, width - first);
    for (int32_t k = 0; k < p->rows.taps; k++, to += size) {
        if (rows[k] == NULL || hi <= lo) {
            mote_bytes_fill(to, p->zero, size);
        } else {
            mote_bytes_fill(to, p->zero, lo * depth);
            mote_bytes_copy(to + lo * depth, rows[k] + (first + lo) * depth, (hi - lo) * depth);
            mote_bytes_fill(to + hi * depth, p->zero, size - hi * depth);
        }
    }
}

MOTE_ALWAYS_INLINE void mote_slide4_row(const mote_slide4_t *p, mote_gemm4_code_t *code, const int8_t *const *rows,
                                        int8_t *out, int8_t *spare) {
    const mote_gemm4_t *const g = &p->gemm;
    const int32_t width = p->cols.out_size, step = p->cols.step, taps = p->rows.taps;
    int8_t *const copy = spare + (width < 2 ? mote_gemm4_both(g) : 0);
    mote_gemm4_call_t call = {g, NULL, 1, NULL, {0}};
    int32_t inside = 1;
    for (int32_t k = 0; k < taps; k++) {
        inside = rows[k] != NULL ? inside : 0;
    }
    for (int32_t x = 0; x < width; x += 2 * call.pairs) {
        x = x + 2 <= width ? x : width > 2 ? width - 2 : 0; /* the last pair may overlap the one before */
        const int32_t first = x * step - p->cols.pad, left = p->cols.in_size - p->span - first;
        call.pairs = 1;
        call.out = width < 2 ? spare : out + x * g->channels;
        if (inside && first >= 0 && left >= 0) {
            call.pairs = x + 2 <= width ? mote_min((width - x) / 2, left / (2 * step) + 1) : 1;
            for (int32_t k = 0; k < taps; k++) {
                call.rows[k] = rows[k] + first * p->depth;
            }
        } else {
            mote_slide4_copy(p, rows, first, copy);
            for (int32_t k = 0; k < taps; k++) {
                call.rows[k] = copy + k * p->span * p->depth;
            }
        }
        code(&call);
    }
    if (width < 2) {
        mote_gemm4_first(g, out, spare);
    }
}

/* Output rows lo..hi-1, of a tensor in one piece, or one from the rows that are given. */
MOTE_ALWAYS_INLINE void mote_slide4_rows(const mote_slide4_t *p, mote_gemm4_code_t *code, const int8_t *in,
                                         const int8_t **rows, int8_t *out, int32_t lo, int32_t hi, int8_t *spare) {
    int8_t *const kept = spare + (p->cols.out_size < 2 ? mote_gemm4_both(&p->gemm) : 0);
    int32_t turn = 0;
    for (int32_t y = lo; y < hi; y++, out += p->rows.out_stride) {
        if (in != NULL) {
            mote_window_s8(&p->rows, in, y, rows);
        }
        if (p->padded.size > 0) {
            mote_padded_rows(&p->padded, &p->rows, p->zero, mote_padded_first(&p->rows, y, lo), &turn, rows, kept);
        }
        mote_slide4_row(p, code, rows, out, spare);
    }
}

#define MOTE_SLIDE4(id) MOTE_CONV4(id, mote_slide4_t, mote_slide4_rows(p, mote_slide4_##id, in, rows, out, lo, hi, scratch);)

/* The functions of a convolution, of which one row from anywhere or several of a tensor can be asked for. */
#define MOTE_CONV4(id, type, work) \
    typedef type mote_conv4_##id##_t; \
    MOTE_NOINLINE void mote_conv4_##id##_all(const type *p, const int8_t *in, const int8_t **rows, int8_t *out, \
                                             int32_t lo, int32_t hi, int8_t *scratch) { \
        work \
    } \
    MOTE_UNUSED static inline void mote_conv4_##id##_row(const type *p, const int8_t **rows, int8_t *out, \
                                                         int8_t *scratch) { \
        mote_conv4_##id##_all(p, NULL, rows, out, 0, 1, scratch); \
    } \
    MOTE_UNUSED static inline void mote_conv4_##id(const type *p, const int8_t *in, int8_t *out, int32_t lo, \
                                                   int32_t hi, int8_t *scratch) { \
        const int8_t *rows[MOTE_MAX_TAPS]; \
        mote_conv4_##id##_all(p, in, rows, out + lo * p->rows.out_stride, lo, hi, scratch); \
    }

/* Any window: those of some pixels are packed one behind another, and are then pixels of a 1x1 convolution. Working
 * memory: the packed windows, and a vector; the outputs of a pair; a row of padding, or the rows with their own. */
typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t depth, zero;  /* channels of a pixel; what padding holds */
    int32_t apart, batch; /* bytes from one packed window to the next, and how many there are */
    int32_t padding;      /* bytes of the row of padding, 0 where no row is */
    mote_padded_t padded;
    mote_gemm4_t gemm;
} mote_windows4_t;

/* Windows of neighbouring pixels, all columns of which lie inside the image. */
typedef struct {
    int8_t *to;
    int32_t count;
    const int8_t *rows[MOTE_MAX_TAPS];
} mote_windows4_call_t;

typedef void mote_windows4_code_t(mote_windows4_call_t *call);

#if MOTE_HELIUM
#define MOTE_WINDOWS4_CODE(id, taps, line, step, apart, text) \
    MOTE_LANES_CODE(mote_windows4_##id, mote_windows4_call_t, text)
#else
#define MOTE_WINDOWS4_CODE(id, taps, line, step, apart, text) \
    MOTE_NOINLINE void mote_windows4_##id(mote_windows4_call_t *call) { \
        mote_windows4(call, taps, line, step, apart); \
    }

MOTE_ALWAYS_INLINE void mote_windows4(mote_windows4_call_t *call, int32_t taps, int32_t line, int32_t step,
                                      int32_t apart) {
    for (int32_t i = 0; i < call->count; i++) {
        for (int32_t k = 0; k < taps; k++) {
            memcpy(call->to + i * apart + k * line, call->rows[k] + i * step, (size_t)line);
        }
    }
}
#endif

/* The window of one pixel, some of whose columns are padding. */
MOTE_NOINLINE void mote_windows4_edge(const mote_windows4_t *p, const int8_t *const *rows, int32_t first, int8_t *to) {
    const mote_span_t *const s = &p->cols;
    const int32_t depth = p->depth, spread = s->spread, lo = mote_span_lo(s, first), hi = mote_span_hi(s, first);
    const int32_t taps = p->rows.taps, line = s->taps * depth, at = (first + lo * spread) * depth;
    mote_bytes_fill(to, p->zero, taps * line);
    to += lo * depth;
    for (int32_t k = 0; k < taps; k++, to += line) {
        if (rows[k] != NULL && spread == 1) {
            mote_bytes_copy(to, rows[k] + at, (hi - lo) * depth);
        } else if (rows[k] != NULL) {
            for (int32_t i = 0; i < hi - lo; i++) {
                mote_bytes_copy(to + i * depth, rows[k] + at + i * spread * depth, depth);
            }
        }
    }
}

/* The windows of `count` pixels from column x on. */
MOTE_ALWAYS_INLINE void mote_windows4_pack(const mote_windows4_t *p, mote_windows4_code_t *pack,
                                           const int8_t *const *rows, int32_t x, int32_t count, int8_t *to,
                                           const int8_t *padding) {
    const mote_span_t *const s = &p->cols;
    while (count > 0) {
        const int32_t first = x * s->step - s->pad, left = s->in_size - s->taps - first;
        int32_t n = 1;
        if (pack != NULL && first >= 0 && left >= 0) {
            mote_windows4_call_t call;
            n = mote_min(count, left / s->step + 1);
            call.to = to;
            call.count = n;
            for (int32_t k = 0; k < p->rows.taps; k++) {
                call.rows[k] = rows[k] != NULL ? rows[k] + first * p->depth : padding;
            }
            pack(&call);
        } else {
            mote_windows4_edge(p, rows, first, to);
        }
        x += n;
        count -= n;
        to += n * p->apart;
    }
}

/* All pixels of output rows lo..hi-1, which lie behind one another; from the rows that are given if there is one. */
MOTE_ALWAYS_INLINE void mote_windows4_rows(const mote_windows4_t *p, mote_windows4_code_t *pack,
                                           mote_gemm4_code_t *code, const int8_t *in, const int8_t **rows, int8_t *out,
                                           int32_t lo, int32_t hi, int8_t *packed) {
    const mote_gemm4_t *const g = &p->gemm;
    const int32_t width = p->cols.out_size, batch = p->batch;
    int8_t *const spare = packed + batch * p->apart + 16, *const padding = spare + mote_gemm4_both(g);
    int32_t there = 0, turn = 0;
    mote_bytes_fill(padding, p->zero, p->padding);
    for (int32_t y = lo; y < hi; y++) {
        if (in != NULL) {
            mote_window_s8(&p->rows, in, y, rows);
        }
        if (p->padded.size > 0) {
            mote_padded_rows(&p->padded, &p->rows, p->zero, mote_padded_first(&p->rows, y, lo), &turn, rows, padding);
        }
        for (int32_t x = 0; x < width;) {
            const int32_t n = mote_min(width - x, batch - there);
            mote_windows4_pack(p, pack, rows, x, n, packed + there * p->apart, padding);
            x += n;
            there += n;
            if (there == batch || (y == hi - 1 && x == width)) {
                const int32_t pairs = there / 2;
                if (pairs > 0) {
                    mote_gemm4_run(g, code, packed, out, pairs);
                }
                out += 2 * pairs * g->channels;
                if (2 * pairs < there) {
                    mote_gemm4_run(g, code, packed + 2 * pairs * p->apart, spare, 1);
                    mote_gemm4_first(g, out, spare);
                }
                there = 0;
            }
        }
    }
}

#define MOTE_CONV4_WINDOWS(id, code, pack) \
    MOTE_CONV4(id, mote_windows4_t, \
               mote_windows4_rows(p, pack, mote_gemm4_##code, in, rows, out, lo, hi, scratch);)

#define MOTE_POINTWISE4(id) \
    typedef mote_pointwise4_t mote_pointwise4_##id##_t; \
    typedef mote_pointwise4_t mote_pointwise4_rows_##id##_t; \
    MOTE_NOINLINE void mote_pointwise4_##id(const mote_pointwise4_t *p, const int8_t *in, int8_t *out, int32_t pixels, \
                                            int8_t *scratch) { \
        mote_pointwise4(p, mote_gemm4_##id, in, out, pixels, scratch); \
    } \
    MOTE_UNUSED static inline void mote_pointwise4_rows_##id##_row( \
        const mote_pointwise4_t *p, const int8_t *const *rows, int8_t *out, int8_t *scratch) { \
        mote_pointwise4_##id(p, rows[0], out, p->width, scratch); \
    } \
    MOTE_UNUSED static inline void mote_pointwise4_rows_##id(const mote_pointwise4_t *p, const int8_t *in, \
                                                             int8_t *out, int32_t lo, int32_t hi, int8_t *scratch) { \
        for (int32_t y = lo; y < hi; y++) { \
            mote_pointwise4_##id(p, in + y * p->step * p->in_stride, out + y * p->out_stride, p->width, scratch); \
        } \
    }

#endif
