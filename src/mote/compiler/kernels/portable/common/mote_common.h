/* mote_common.h: what every kernel shares: row windows, exact requantization, clamping.
 *
 * Kernels are plain C99, static inline, without allocation, recursion or global state. All integer
 * arithmetic equals LiteRT's reference kernels bit for bit. What a core has instructions for is called as a primitive
 * (kernels/primitives/), whose portable code defines what it means.
 */
#ifndef MOTE_COMMON_H
#define MOTE_COMMON_H

#include "mote_scalar.h"

/* The float that is larger than all others, as a constant. */
#if defined(__GNUC__)
#define MOTE_INFINITY (1.0f / 0.0f)
#else
#define MOTE_INFINITY ((float)(1e300 * 1e300))
#endif

/* What needs a `double` of 64 bits is an error where it has fewer (avr-gcc has an option for it, -mdouble=64). */
#if defined(__SIZEOF_DOUBLE__) && __SIZEOF_DOUBLE__ < 8
#define MOTE_SHORT_DOUBLE 1
#else
#define MOTE_SHORT_DOUBLE 0
#endif

#ifndef MOTE_MAX_TAPS
#define MOTE_MAX_TAPS 16 /* the tallest window of the model; generated code sets it */
#endif

#ifndef MOTE_SUMS_WRAP
#define MOTE_SUMS_WRAP 0 /* whether a sum of the model can leave 32 bits; generated code sets it */
#endif

/* a + b as registers add: what does not fit 32 bits wraps, as LiteRT's sums do. */
MOTE_ALWAYS_INLINE int32_t mote_wrapping_add(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }

/* The same where generated code says that a sum of the model might not fit. Else the compiler has proven that all of
 * them do, in any order of their terms. */
#if MOTE_SUMS_WRAP
#define MOTE_PLUS(a, b) mote_wrapping_add(a, b)
#else
#define MOTE_PLUS(a, b) ((a) + (b))
#endif

/* The vertical side of a sliding window. Output row y reads the input rows y*step - pad + k*spread for
 * k = 0..taps-1; those outside the image are padding. Row contract: a kernel's *_row function computes one
 * output row from `taps` row pointers, NULL for padding, wherever the caller keeps those rows. */
typedef struct {
    int32_t in_rows, out_rows;     /* of one image */
    int32_t in_stride, out_stride; /* elements from one row to the next */
    int32_t taps, step, spread, pad;
} mote_window_t;

/* The first input row that output row y reads, and the image (batch) it belongs to. */
static inline int32_t mote_window_first(const mote_window_t *w, int32_t y, int32_t *image) {
    int32_t n = 0;
    while (y >= w->out_rows) {
        y -= w->out_rows;
        n++;
    }
    *image = n;
    return y * w->step - w->pad;
}

/* mote_window_SUFFIX: row pointers into a tensor whose rows lie one after another. */
#define MOTE_WINDOW_OF(suffix, value_t) \
    MOTE_UNUSED static inline void mote_window_##suffix(const mote_window_t *w, const value_t *in, int32_t y, \
                                                        const value_t **rows) { \
        int32_t image; \
        int32_t row = mote_window_first(w, y, &image); \
        in += image * w->in_rows * w->in_stride; \
        for (int32_t k = 0; k < w->taps; k++, row += w->spread) { \
            rows[k] = row >= 0 && row < w->in_rows ? in + row * w->in_stride : NULL; \
        } \
    }

MOTE_WINDOW_OF(s8, int8_t)
MOTE_WINDOW_OF(s16, int16_t)
MOTE_WINDOW_OF(f32, float)

/* The kernel `name` over tensors whose rows lie one after another, from its function for one output row. */
#define MOTE_BY_ROWS(name, in_t, out_t, suffix, window) \
    MOTE_UNUSED static inline void mote_##name(const mote_##name##_t *p, const in_t *in, out_t *out, int32_t lo, \
                                               int32_t hi) { \
        const in_t *rows[MOTE_MAX_TAPS]; \
        for (int32_t y = lo; y < hi; y++) { \
            mote_window_##suffix(&p->window, in, y, rows); \
            mote_##name##_row(p, rows, out + y * p->window.out_stride); \
        } \
    }

/* The horizontal side of a window: which of its `taps` columns lie inside the image at output column x. */
typedef struct {
    int32_t in_size, out_size;
    int32_t taps, step, spread, pad;
} mote_span_t;

static inline int32_t mote_span_lo(const mote_span_t *s, int32_t first) {
    int32_t k = 0;
    while (first < 0) {
        first += s->spread;
        k++;
    }
    return k;
}

static inline int32_t mote_span_hi(const mote_span_t *s, int32_t first) {
    int32_t k = s->taps;
    int32_t last = first + (s->taps - 1) * s->spread;
    while (k > 0 && last >= s->in_size) {
        last -= s->spread;
        k--;
    }
    return k;
}

/* How one output channel turns its int32 sum into int8: see mote_rescale. The compiler normalizes the multiplier. */
typedef struct {
    int32_t bias, mult, shift;
} mote_channel_t;

typedef struct {
    int32_t zero, lo, hi; /* output zero point and the range of the fused activation */
    int32_t plain;        /* the range is all of int8, and no channel has a left shift */
} mote_output_t;

/* x / 2^(shift + 1), halves away from zero. */
static inline int32_t mote_shift_right(int32_t x, int32_t shift) { return (((x + (x >> 31)) >> shift) + 1) >> 1; }

/* x * mult / 2^31 / 2^(shift + 1), rounded after the multiply and, halves away from zero, after the shift.
 * A shift below zero is a left shift by -1 - shift. */
static inline int32_t mote_rescale(int32_t x, int32_t mult, int32_t shift) {
    if (shift < 0) {
        return mote_high_mul((int32_t)((uint32_t)x << (-1 - shift)), mult);
    }
    return mote_shift_right(mote_high_mul(x, mult), shift);
}

/* A channel's sum as int8 where the output is plain. The multiplier is normalized. */
static inline int8_t mote_requantize_plain(int32_t sum, int32_t mult, int32_t shift, int32_t zero) {
    const int32_t y = mote_shift_right(mote_high_mul_normal(sum, mult), shift) + zero;
    return mote_saturate_s8(y);
}

/* The same for any output. */
static inline int8_t mote_requantize(int32_t sum, int32_t mult, int32_t shift, mote_output_t o) {
    if (o.plain) {
        return mote_requantize_plain(sum, mult, shift, o.zero);
    }
    return mote_clamp(MOTE_PLUS(mote_rescale(sum, mult, shift), o.zero), o.lo, o.hi);
}

static inline float mote_clamp_f32(float x, float lo, float hi) { return x < lo ? lo : x > hi ? hi : x; }

static inline int32_t mote_min(int32_t a, int32_t b) { return a < b ? a : b; }

#endif
