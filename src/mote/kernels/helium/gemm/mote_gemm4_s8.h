/* mote_gemm4_s8.h: int8 convolution four pixels and two channels at a time, for cores with Helium.
 *
 * One instruction adds sixteen products to a sum in a core register. Eight of these are sums: four pixels of two
 * channels, whose weights are loaded once for all four. The sums of all channels, or of a part of them, go to working
 * memory; then the four pixels of a channel are the lanes of a vector, whose constants are scalars, and four channels
 * of them leave as words. The code depends on how pixels lie and comes from the compiler (helium/gemm_code.py); here is
 * what surrounds it, and what it means in C.
 */
#ifndef MOTE_GEMM4_S8_H
#define MOTE_GEMM4_S8_H

#include "mote_bytes.h"
#include "mote_lanes.h"

typedef struct {
    const int8_t *weights;    /* [channels in pairs][steps of sixteen inputs][two][sixteen], zeros where there are none */
    const int32_t *constants; /* of each channel, those of mote_lanes.h */
    int32_t fours, part;      /* channels in fours, and those whose sums are kept at once */
    int32_t advance;          /* bytes from the outputs behind a group to those of the next */
    mote_lanes_t lanes;
    int32_t channels, pixel; /* channels; bytes from one output pixel to the next */
} mote_gemm4_t;

/* Groups of four pixels, whose first outputs go to `outs`. */
typedef struct {
    const mote_gemm4_t *layer;
    const int8_t *in;
    int32_t groups;
    int32_t *sums;
    int8_t *outs[4];       /* for the assembly: the addresses four bytes before */
    const int8_t *rows[4]; /* under the group's windows, instead of `in`: three of them */
} mote_gemm4_call_t;

typedef void mote_gemm4_code_t(mote_gemm4_call_t *call);

#if MOTE_HELIUM
#define MOTE_GEMM4_CODE(id, constants, steps, apart, count, form, shift, text) \
    MOTE_LANES_CODE(mote_gemm4_##id, mote_gemm4_call_t, text)
#define MOTE_SLIDE4_CODE(id, constants, taps, columns, step, depth, form, shift, text) \
    MOTE_LANES_CODE(mote_slide4_##id, mote_gemm4_call_t, text)
#define MOTE_GEMM4_BEFORE 4
#else
#define MOTE_GEMM4_CODE(id, constants, steps, apart, count, form, shift, text) \
    MOTE_NOINLINE void mote_gemm4_##id(mote_gemm4_call_t *call) { \
        mote_gemm4(call, steps, apart, count, constants, mote_lane_##form, shift); \
    }
#define MOTE_SLIDE4_CODE(id, constants, taps, columns, step, depth, form, shift, text) \
    MOTE_NOINLINE void mote_slide4_##id(mote_gemm4_call_t *call) { \
        mote_slide4(call, taps, columns, step, depth, constants, mote_lane_##form, shift); \
    }
#define MOTE_GEMM4_BEFORE 0

MOTE_ALWAYS_INLINE void mote_gemm4(mote_gemm4_call_t *call, int32_t steps, int32_t apart, int32_t count,
                                   int32_t constants, mote_lane_t *lane, int32_t shift) {
    const mote_gemm4_t *const g = call->layer;
    const int8_t *in = call->in;
    for (int32_t group = 0; group < call->groups; group++, in += count * apart) {
        for (int32_t c = 0; c < g->channels; c++) {
            const int8_t *const w = g->weights + 32 * steps * (c / 2) + 16 * (c % 2);
            for (int32_t i = 0; i < count; i++) {
                int32_t sum = 0;
                for (int32_t k = 0; k < steps; k++) {
                    for (int32_t j = 0; j < 16; j++) {
                        sum += in[i * apart + 16 * k + j] * w[32 * k + j];
                    }
                }
                call->outs[i][count * group * g->pixel + c] = lane(&g->lanes, sum, g->constants + constants * c, shift);
            }
        }
    }
}

/* One pixel's products with the weights of a channel that lie from w on: [rows][vectors][columns][two][sixteen], with
 * the columns of a window in the order 0, step, .., 1, step + 1, .. */
MOTE_ALWAYS_INLINE int32_t mote_slide4_sum(const mote_gemm4_call_t *call, int32_t at, const int8_t *w, int32_t taps,
                                           int32_t columns, int32_t step, int32_t depth) {
    int32_t sum = 0;
    for (int32_t row = 0; row < taps; row++) {
        for (int32_t part = 0; part < depth; part += 16) {
            for (int32_t first = 0; first < step; first++) {
                for (int32_t column = first; column < columns; column += step, w += 32) {
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
                                    int32_t constants, mote_lane_t *lane, int32_t shift) {
    const mote_gemm4_t *const g = call->layer;
    for (int32_t i = 0; i < 4 * call->groups; i++) {
        for (int32_t c = 0; c < g->channels; c++) {
            const int8_t *const w = g->weights + 2 * taps * columns * depth * (c / 2) + 16 * (c % 2);
            const int32_t sum = mote_slide4_sum(call, i * step, w, taps, columns, step, depth);
            call->outs[i % 4][i / 4 * 4 * g->pixel + c] = lane(&g->lanes, sum, g->constants + constants * c, shift);
        }
    }
}
#endif

/* One or several groups of three or four pixels which all lie behind one another, to `out` and behind it. */
MOTE_ALWAYS_INLINE void mote_gemm4_run(const mote_gemm4_t *g, mote_gemm4_code_t *code, const int8_t *in, int8_t *out,
                                       int32_t groups, int32_t size, int32_t *sums) {
    mote_gemm4_call_t call = {g, in, groups, sums, {0}, {0}};
    for (int32_t i = 0; i < 4; i++) {
        call.outs[i] = out + mote_min(i, size - 1) * g->pixel - MOTE_GEMM4_BEFORE;
    }
    code(&call);
}

/* A group of `size` pixels, of which there are `count`: the outputs of the others go to `spare`. */
MOTE_ALWAYS_INLINE void mote_gemm4_some(const mote_gemm4_t *g, mote_gemm4_code_t *code, const int8_t *in, int8_t *out,
                                        int32_t count, int32_t size, int8_t *spare, int32_t *sums) {
    mote_gemm4_call_t call = {g, in, 1, sums, {0}, {0}};
    for (int32_t i = 0; i < 4; i++) {
        const int32_t pixel = mote_min(i, size - 1);
        call.outs[i] = (pixel < count ? out + pixel * g->pixel : spare) - MOTE_GEMM4_BEFORE;
    }
    code(&call);
}

/* A 1x1 convolution. Pixels are read as they lie, in vectors of sixteen inputs; those of a last group that would read
 * behind the end, or that has too few pixels, are copied. Working memory: the sums of a part of the channels; the
 * pixels of a group and a vector; the outputs of pixels that are none. */
typedef struct {
    int32_t depth, apart;          /* inputs of a pixel; bytes from one to the next */
    int32_t group;                 /* pixels at once: three or four */
    int32_t behind;                /* pixels that the vectors of the one before them reach into */
    int32_t width;                 /* pixels of a row */
    int32_t step;                  /* input rows from one to the next */
    int32_t in_stride, out_stride; /* bytes of a row */
    mote_gemm4_t gemm;
} mote_pointwise4_t;

MOTE_ALWAYS_INLINE void mote_pointwise4(const mote_pointwise4_t *p, mote_gemm4_code_t *code, const int8_t *in,
                                        int8_t *out, int32_t pixels, int32_t *scratch) {
    const mote_gemm4_t *const g = &p->gemm;
    const int32_t apart = p->apart, size = p->group, groups = pixels > p->behind ? (pixels - p->behind) / size : 0;
    int8_t *const copy = (int8_t *)(scratch + 16 * g->part);
    if (groups > 0) {
        mote_gemm4_run(g, code, in, out, groups, size, scratch);
    }
    for (int32_t done = size * groups; done < pixels; done += size) {
        const int32_t first = done + size <= pixels ? done : pixels > size ? pixels - size : 0;
        const int32_t count = mote_min(pixels - first, size);
        const int8_t *from = in + first * apart;
        if (p->behind > 0 || count < size) {
            for (int32_t i = 0; i < count; i++) {
                mote_bytes_copy(copy + i * apart, from + i * apart, p->depth);
            }
            from = copy;
        }
        mote_gemm4_some(g, code, from, out + first * g->pixel, count, size, copy + size * apart + 16, scratch);
    }
}

/* Rows of an image with their padding, in working memory: each is copied once, and stays for as many windows as it is
 * under. */
typedef struct {
    int32_t size;       /* bytes of a row with its padding; 0: rows are read where they are */
    int32_t left, line; /* bytes of padding before the pixels, and of these */
} mote_padded_t;

/* The rows under a window, in the same order, from the first window on or from the one before. */
MOTE_NOINLINE void mote_padded_rows(const mote_padded_t *p, const mote_window_t *w, int32_t zero, int32_t first,
                                    int32_t *turn, const int8_t **rows, int8_t *kept) {
    const int32_t taps = w->taps, all = first || w->spread > 1 || w->step > taps;
    int32_t at = first ? 0 : *turn + (all ? 0 : w->step);
    at -= at >= taps ? taps : 0;
    *turn = at;
    if (first) {
        mote_bytes_fill(kept, zero, taps * p->size);
    }
    for (int32_t k = 0; k < taps; k++, at = at + 1 < taps ? at + 1 : 0) {
        int8_t *const to = kept + at * p->size;
        if (all || k >= taps - w->step) {
            if (rows[k] == NULL) {
                mote_bytes_fill(to, zero, p->size);
            } else {
                mote_bytes_copy(to + p->left, rows[k], p->line);
            }
        }
        rows[k] = to;
    }
}

/* Whether row y is the first of those that are computed, or of an image. */
static inline int32_t mote_padded_first(const mote_window_t *w, int32_t y, int32_t lo) {
    return y == lo || y % w->out_rows == 0;
}

/* Windows of up to three rows over pixels whose channels are whole vectors: columns are read where they lie. Groups at
 * the edge of the image are copied, with their padding, or all rows are. Working memory: the sums of a part of the
 * channels; the outputs of pixels that are none; the pixels under a group, or the rows. */
typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t depth, zero; /* channels of a pixel; what padding holds */
    int32_t span;        /* columns under a group */
    mote_padded_t padded;
    mote_gemm4_t gemm;
} mote_slide4_t;

/* The pixels from column `first` on under a group. */
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
                                        int8_t *out, int32_t *sums) {
    const mote_gemm4_t *const g = &p->gemm;
    const int32_t width = p->cols.out_size, step = p->cols.step, taps = p->rows.taps;
    int8_t *const spare = (int8_t *)(sums + 16 * g->part), *const copy = spare + (width < 4 ? 4 * g->fours : 0);
    mote_gemm4_call_t call = {g, NULL, 1, sums, {0}, {0}};
    int32_t inside = 1;
    for (int32_t k = 0; k < taps; k++) {
        inside = rows[k] != NULL ? inside : 0;
    }
    for (int32_t x = 0; x < width; x += 4 * call.groups) {
        x = x + 4 <= width ? x : width > 4 ? width - 4 : 0; /* the last group may overlap the one before */
        const int32_t first = x * step - p->cols.pad, left = p->cols.in_size - p->span - first;
        call.groups = 1;
        for (int32_t i = 0; i < 4; i++) {
            call.outs[i] = (x + i < width ? out + (x + i) * g->pixel : spare) - MOTE_GEMM4_BEFORE;
        }
        if (inside && first >= 0 && left >= 0) {
            call.groups = x + 4 <= width ? mote_min((width - x) / 4, left / (4 * step) + 1) : 1;
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
}

/* Output rows lo..hi-1, of a tensor in one piece, or one from the rows that are given. */
MOTE_ALWAYS_INLINE void mote_slide4_rows(const mote_slide4_t *p, mote_gemm4_code_t *code, const int8_t *in,
                                         const int8_t **rows, int8_t *out, int32_t lo, int32_t hi, int32_t *sums) {
    int8_t *const kept = (int8_t *)(sums + 16 * p->gemm.part) + (p->cols.out_size < 4 ? 4 * p->gemm.fours : 0);
    int32_t turn = 0;
    for (int32_t y = lo; y < hi; y++, out += p->rows.out_stride) {
        if (in != NULL) {
            mote_window_s8(&p->rows, in, y, rows);
        }
        if (p->padded.size > 0) {
            mote_padded_rows(&p->padded, &p->rows, p->zero, mote_padded_first(&p->rows, y, lo), &turn, rows, kept);
        }
        mote_slide4_row(p, code, rows, out, sums);
    }
}

#define MOTE_SLIDE4(id) MOTE_CONV4(id, mote_slide4_t, mote_slide4_rows(p, mote_slide4_##id, in, rows, out, lo, hi, scratch);)

/* The functions of a convolution, of which one row from anywhere or several of a tensor can be asked for. */
#define MOTE_CONV4(id, type, work) \
    typedef type mote_conv4_##id##_t; \
    MOTE_NOINLINE void mote_conv4_##id##_all(const type *p, const int8_t *in, const int8_t **rows, int8_t *out, \
                                             int32_t lo, int32_t hi, int32_t *scratch) { \
        work \
    } \
    MOTE_UNUSED static inline void mote_conv4_##id##_row(const type *p, const int8_t **rows, int8_t *out, \
                                                         int32_t *scratch) { \
        mote_conv4_##id##_all(p, NULL, rows, out, 0, 1, scratch); \
    } \
    MOTE_UNUSED static inline void mote_conv4_##id(const type *p, const int8_t *in, int8_t *out, int32_t lo, \
                                                   int32_t hi, int32_t *scratch) { \
        const int8_t *rows[MOTE_MAX_TAPS]; \
        mote_conv4_##id##_all(p, in, rows, out + lo * p->rows.out_stride, lo, hi, scratch); \
    }

/* Any window: those of some pixels are packed one behind another, and are then pixels of a 1x1 convolution. Working
 * memory: the sums of a part of the channels; the packed windows, and a vector; a row of padding, or the rows with their
 * own; the outputs of pixels that are none. */
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
                                           int32_t lo, int32_t hi, int32_t *sums) {
    const mote_gemm4_t *const g = &p->gemm;
    const int32_t width = p->cols.out_size, batch = p->batch;
    int8_t *const packed = (int8_t *)(sums + 16 * g->part), *const spare = packed + batch * p->apart + 16;
    int8_t *const padding = spare + 4 * g->fours;
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
                const int32_t groups = there / 4;
                if (groups > 0) {
                    mote_gemm4_run(g, code, packed, out, groups, 4, sums);
                }
                out += 4 * groups * g->pixel;
                if (4 * groups < there) {
                    mote_gemm4_some(g, code, packed + 4 * groups * p->apart, out, there - 4 * groups, 4,
                                    spare, sums);
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
                                            int32_t *scratch) { \
        mote_pointwise4(p, mote_gemm4_##id, in, out, pixels, scratch); \
    } \
    MOTE_UNUSED static inline void mote_pointwise4_rows_##id##_row( \
        const mote_pointwise4_t *p, const int8_t *const *rows, int8_t *out, int32_t *scratch) { \
        mote_pointwise4_##id(p, rows[0], out, p->width, scratch); \
    } \
    MOTE_UNUSED static inline void mote_pointwise4_rows_##id(const mote_pointwise4_t *p, const int8_t *in, \
                                                             int8_t *out, int32_t lo, int32_t hi, int32_t *scratch) { \
        for (int32_t y = lo; y < hi; y++) { \
            mote_pointwise4_##id(p, in + y * p->step * p->in_stride, out + y * p->out_stride, p->width, scratch); \
        } \
    }

#endif
