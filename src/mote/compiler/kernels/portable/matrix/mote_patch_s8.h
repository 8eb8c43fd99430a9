/* mote_patch_s8.h: kernels whose results are right but for a few sums, and are patched.
 *
 * Where results are rounded to even in single precision, some channels have no constants that are right for all sums: a
 * few sums, which the compiler knows, become a byte that is off by one. Only pixels with such a byte are suspects; their
 * sums are computed again, and rounded as mote_even.h says. */
#ifndef MOTE_PATCH_S8_H
#define MOTE_PATCH_S8_H

#include "mote_dot_s8.h"
#include "mote_even.h"

typedef struct {
    int32_t channel, bias, mult, shift; /* see mote_rescale_even */
} mote_patched_t;

#define MOTE_PATCH_WORDS 8

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t in_channels, in_zero;
    int32_t depthwise;          /* 1: a channel reads its own channel of inputs */
    int32_t in_line, in_before; /* of inputs that are planar, see below; else 0 */
    int32_t pixel;        /* from one output pixel to the next, or 1 where outputs are planar: */
    int32_t line, before; /* lines of one channel, see the kernels that write them, and where their pixels begin; else 0 */
    int32_t count;        /* of channels that are patched */
    mote_output_t output;
    const mote_patched_t *channel;
    const uint32_t *suspects; /* a bit for each byte, from -128 up, of each of these channels */
    const int8_t *weights; /* [count][kernel rows][kernel columns][input channels, or one] */
} mote_patching_t;

static inline int32_t mote_patch_suspect(const uint32_t *suspects, uint32_t code) {
    return (int32_t)(suspects[code >> 5] >> (code & 31u) & 1u);
}

/* Where a pixel lies in a planar line: the middle two of each four are exchanged. */
static inline int32_t mote_patch_place(int32_t at) { return (at & ~3) | ((at & 1) << 1) | ((at >> 1) & 1); }

/* A channel's inputs of one row of the window times weights. Planar ones are 128 more than values, whose zero is -128. */
static inline int32_t mote_patch_line(const mote_patching_t *p, const int8_t *row, const int8_t *w, int32_t channel,
                                     int32_t first, int32_t lo, int32_t hi, int32_t sum) {
    for (int32_t t = lo; t < hi; t++) {
        const int32_t x = first + t * p->cols.spread;
        const int32_t value = p->in_line != 0
                                  ? (uint8_t)row[channel * p->in_line + mote_patch_place(p->in_before + x)]
                                  : row[x * p->in_channels + channel] - p->in_zero;
        sum = MOTE_PLUS(sum, value * w[t]);
    }
    return sum;
}

/* The byte of a channel under output column x, from all that it reads. */
MOTE_NOINLINE int8_t mote_patch_one(const mote_patching_t *p, const mote_patched_t *q, const int8_t *w,
                                   const int8_t *const *rows, int32_t x) {
    const mote_span_t *s = &p->cols;
    const int32_t c = p->in_channels, first = x * s->step - s->pad;
    const int32_t lo = mote_span_lo(s, first), hi = mote_span_hi(s, first);
    int32_t sum = q->bias;
    for (int32_t k = 0; k < p->rows.taps; k++, w += p->depthwise ? s->taps : s->taps * c) {
        if (p->depthwise) {
            sum = rows[k] != NULL ? mote_patch_line(p, rows[k], w, q->channel, first, lo, hi, sum) : sum;
            continue;
        }
        for (int32_t t = lo; rows[k] != NULL && t < hi; t++) {
            sum = mote_dot_less_zero(rows[k] + (first + t * s->spread) * c, w + t * c, c, p->in_zero, sum);
        }
    }
    const mote_output_t o = p->output;
    return mote_clamp(o.zero + mote_rescale_even(sum, q->mult, q->shift, -128 - o.zero, 127 - o.zero), o.lo, o.hi);
}

/* One output row. */
MOTE_NOINLINE void mote_patch_row(const mote_patching_t *p, const int8_t *const *rows, int8_t *out) {
    const mote_patched_t *q = p->channel;
    const int8_t *w = p->weights;
    const uint32_t more = p->line != 0 ? 0u : 128u;
    const int32_t each = p->rows.taps * p->cols.taps * (p->depthwise ? 1 : p->in_channels);
    for (int32_t i = 0; i < p->count; i++, q++, w += each) {
        int8_t *const to = out + q->channel * (p->line != 0 ? p->line : 1);
        for (int32_t x = 0; x < p->cols.out_size; x++) {
            int8_t *const byte = to + (p->line != 0 ? mote_patch_place(p->before + x) : x * p->pixel);
            const uint32_t code = ((uint32_t)(uint8_t)*byte + more) & 255u;
            if (mote_patch_suspect(p->suspects + MOTE_PATCH_WORDS * i, code)) {
                const int8_t patched = mote_patch_one(p, q, w, rows, x);
                *byte = p->line != 0 ? (int8_t)(patched ^ -128) : patched;
            }
        }
    }
}

/* Pixels one after another, each a vector of its own. */
static inline void mote_patch_pixels(const mote_patching_t *p, const int8_t *in, int8_t *out, int32_t pixels) {
    const mote_patched_t *q = p->channel;
    const int8_t *w = p->weights;
    for (int32_t i = 0; i < p->count; i++, q++, w += p->in_channels) {
        int8_t *byte = out + q->channel;
        for (int32_t x = 0; x < pixels; x++, byte += p->pixel) {
            const uint32_t code = ((uint32_t)(uint8_t)*byte + 128u) & 255u;
            if (mote_patch_suspect(p->suspects + MOTE_PATCH_WORDS * i, code)) {
                const int8_t *row = in + x * p->in_channels;
                *byte = mote_patch_one(p, q, w, &row, 0);
            }
        }
    }
}

static inline void mote_patch_rows(const mote_patching_t *p, const int8_t *in, int8_t *out, int32_t lo, int32_t hi) {
    const int8_t *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_s8(&p->rows, in, y, rows);
        mote_patch_row(p, rows, out + y * p->rows.out_stride);
    }
}

#define MOTE_PATCHED_STRUCT(name) \
    typedef struct { \
        mote_##name##_t plain; \
        mote_patching_t patch; \
    } mote_patched_##name##_t;

#define MOTE_PATCHED_FLAT(name) \
    MOTE_PATCHED_STRUCT(name) \
    MOTE_UNUSED static inline void mote_patched_##name(const mote_patched_##name##_t *p, const int8_t *in, int8_t *out, \
                                                      int32_t pixels) { \
        mote_##name(&p->plain, in, out, pixels); \
        mote_patch_pixels(&p->patch, in, out, pixels); \
    }

#define MOTE_PATCHED_FLAT_WORKING(name) \
    MOTE_PATCHED_STRUCT(name) \
    MOTE_UNUSED static inline void mote_patched_##name(const mote_patched_##name##_t *p, const int8_t *in, int8_t *out, \
                                                      int32_t pixels, mote_any_t scratch) { \
        mote_##name(&p->plain, in, out, pixels, scratch); \
        mote_patch_pixels(&p->patch, in, out, pixels); \
    }

#define MOTE_PATCHED_ROWS(name) \
    MOTE_PATCHED_STRUCT(name) \
    MOTE_UNUSED static inline void mote_patched_##name(const mote_patched_##name##_t *p, const int8_t *in, int8_t *out, \
                                                      int32_t lo, int32_t hi, mote_any_t scratch) { \
        mote_##name(&p->plain, in, out, lo, hi, scratch); \
        mote_patch_rows(&p->patch, in, out, lo, hi); \
    }

/* The same of kernels without working memory. */
#define MOTE_PATCHED_ROWS_DRY(name) \
    MOTE_PATCHED_STRUCT(name) \
    MOTE_UNUSED static inline void mote_patched_##name(const mote_patched_##name##_t *p, const int8_t *in, int8_t *out, \
                                                      int32_t lo, int32_t hi) { \
        mote_##name(&p->plain, in, out, lo, hi); \
        mote_patch_rows(&p->patch, in, out, lo, hi); \
    }

#define MOTE_PATCHED_ROW_DRY(name, row) \
    MOTE_UNUSED static inline void mote_patched_##row(const mote_patched_##name##_t *p, const int8_t *const *in, \
                                                     int8_t *out) { \
        mote_##row(&p->plain, in, out); \
        mote_patch_row(&p->patch, in, out); \
    }

#define MOTE_PATCHED_SEVERAL_DRY(name, several) \
    MOTE_UNUSED static inline void mote_patched_##several(const mote_patched_##name##_t *p, const int8_t *const *in, \
                                                         int8_t *const *outs, int32_t count) { \
        mote_##several(&p->plain, in, outs, count); \
        for (int32_t k = 0; k < count; k++) { \
            mote_patch_row(&p->patch, in + k * p->patch.rows.step, outs[k]); \
        } \
    }

/* `row` and `rows` are functions of a kernel for one output row, and for several. */
#define MOTE_PATCHED_ROW(name, row) \
    MOTE_UNUSED static inline void mote_patched_##row(const mote_patched_##name##_t *p, const int8_t **in, \
                                                     int8_t *out, mote_any_t scratch) { \
        const int8_t *kept[MOTE_MAX_TAPS]; /* kernels may put other rows there */ \
        memcpy(kept, in, (size_t)p->patch.rows.taps * sizeof *kept); \
        mote_##row(&p->plain, in, out, scratch); \
        mote_patch_row(&p->patch, kept, out); \
    }

#define MOTE_PATCHED_SEVERAL(name, several) \
    MOTE_UNUSED static inline void mote_patched_##several(const mote_patched_##name##_t *p, const int8_t **in, \
                                                         int8_t *const *outs, int32_t count, mote_any_t scratch) { \
        mote_##several(&p->plain, in, outs, count, scratch); \
        for (int32_t k = 0; k < count; k++) { \
            mote_patch_row(&p->patch, in + k * p->patch.rows.step, outs[k]); \
        } \
    }

#endif
