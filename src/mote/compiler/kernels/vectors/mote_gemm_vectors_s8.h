/* mote_gemm_vectors_s8.h: int8 convolutions and fully connected layers in the vectors of a computer.
 *
 * Inputs are widened once for all channels, rows with the padding at their sides. A tile of pixels and 16 channels has its
 * sums in registers; runs of inputs under a window are multiplied where they lie, four inputs at a time. The input's zero
 * point is part of the bias. Weights are packed by the compiler as [block of 16 channels][run of a window][four inputs]
 * [16 channels][4], with zeros where a run or a block ends. */
#ifndef MOTE_GEMM_VECTORS_S8_H
#define MOTE_GEMM_VECTORS_S8_H

#include "mote_vectors.h"

typedef struct {
    int32_t channels;
    int32_t fours; /* of inputs in a run */
    int32_t once;  /* whether results are rounded once */
    mote_output_t output;
    const int8_t *weights;
    const int32_t *block;
} mote_gemm_vectors_t;

/* The runs of a window: so many in each of several rows, `apart` inputs from one to the next. */
typedef struct {
    const mote_v_factor_t *const *rows;
    int32_t count, runs, apart;
    int32_t at, pixel; /* of the first pixel in a row, and from one pixel to the next */
} mote_runs_t;

#if MOTE_VECTORS

/* Products of `n` pixels with two parts of the weights, added to nothing. */
#define MOTE_TWO_PARTS(n, each) \
    MOTE_ALWAYS_INLINE void mote_two_parts_##n(const mote_runs_t *r, const int8_t *w, int32_t fours, mote_v_t *sum) { \
        const int32_t pixel = r->pixel, step = 4 * MOTE_VECTOR_BLOCK, runs = r->runs; \
        mote_v_t MOTE_SUMS_##n; \
        for (int32_t k = 0; k < r->count; k++) { \
            for (int32_t t = 0; t < runs; t++) { \
                const mote_v_factor_t *x = r->rows[k] + r->at + t * r->apart; \
                for (int32_t i = 0; i < fours; i++, x += 4, w += step) { \
                    const mote_few_t w0 = mote_v_weights(w), w1 = mote_v_weights(w + step / MOTE_PARTS); \
                    each(MOTE_PRODUCT) \
                } \
            } \
        } \
        each(MOTE_KEEP) \
    }
#define MOTE_SUM_OF(p) a##p = mote_v_zero(), b##p = mote_v_zero()
#define MOTE_SUMS_1 MOTE_SUM_OF(0)
#define MOTE_SUMS_4 MOTE_SUM_OF(0), MOTE_SUM_OF(1), MOTE_SUM_OF(2), MOTE_SUM_OF(3)
#define MOTE_SUMS_8 MOTE_SUMS_4, MOTE_SUM_OF(4), MOTE_SUM_OF(5), MOTE_SUM_OF(6), MOTE_SUM_OF(7)
#define MOTE_PRODUCT(p) \
    { \
        const mote_few_t x##p = mote_v_four(x + (p) * pixel); \
        a##p = mote_v_dot(a##p, w0, x##p); \
        b##p = mote_v_dot(b##p, w1, x##p); \
    }
#define MOTE_KEEP(p) sum[(p) * MOTE_PARTS] = a##p, sum[(p) * MOTE_PARTS + 1] = b##p;
#define MOTE_EACH_1(m) m(0)
#define MOTE_EACH_4(m) m(0) m(1) m(2) m(3)
#define MOTE_EACH_8(m) MOTE_EACH_4(m) m(4) m(5) m(6) m(7)

MOTE_TWO_PARTS(1, MOTE_EACH_1)
MOTE_TWO_PARTS(4, MOTE_EACH_4)
#if MOTE_TILE == 8
MOTE_TWO_PARTS(8, MOTE_EACH_8)
#endif

/* `n` pixels of all channels. */
#define MOTE_GEMM_VECTORS(n) \
    MOTE_NOINLINE void mote_gemm_vectors_##n(const mote_gemm_vectors_t *g, const mote_runs_t *runs, int8_t *out) { \
        const mote_runs_t r = *runs; \
        const int32_t fours = g->fours, once = g->once, channels = g->channels; \
        const size_t stride = (size_t)(r.count * r.runs) * (size_t)fours * 4 * MOTE_VECTOR_BLOCK; \
        const mote_output_t o = g->output; \
        const int8_t *w = g->weights; \
        const int32_t *b = g->block; \
        for (int32_t c = 0; c < channels; c += MOTE_VECTOR_BLOCK, w += stride, b += MOTE_VECTOR_BLOCK_CONSTANTS) { \
            mote_v_t sum[(n) * MOTE_PARTS]; \
            for (int32_t part = 0; part < MOTE_PARTS; part += 2) { \
                mote_two_parts_##n(&r, w + part * (4 * MOTE_VECTOR_BLOCK / MOTE_PARTS), fours, sum + part); \
            } \
            for (int32_t p = 0; p < (n); p++) { \
                mote_narrow_t bytes[MOTE_GROUPS]; \
                for (int32_t i = 0; i < MOTE_GROUPS; i++) { \
                    const mote_lanes_t s = MOTE_LANES_OF(sum + p * MOTE_PARTS, i); \
                    const mote_lanes_t start = mote_v_load(b + i * MOTE_VECTORS); \
                    bytes[i] = mote_v_finish(mote_v_plus(s, start), b, i, once, &o); \
                } \
                mote_v_store(bytes, out + p * channels + c, channels - c); \
            } \
        } \
    }
#if MOTE_HALVES
#define MOTE_LANES_OF(sum, i) mote_v_join((sum)[2 * (i)], (sum)[2 * (i) + 1])
#else
#define MOTE_LANES_OF(sum, i) (mote_lanes_t)(sum)[i]
#endif

MOTE_GEMM_VECTORS(1)
MOTE_GEMM_VECTORS(4)
#if MOTE_TILE == 8
MOTE_GEMM_VECTORS(8)
#endif

#else

/* A pixel of all channels. */
MOTE_NOINLINE void mote_gemm_vectors_1(const mote_gemm_vectors_t *g, const mote_runs_t *r, int8_t *out) {
    const int8_t *w = g->weights;
    const int32_t *b = g->block;
    for (int32_t c = 0; c < g->channels; c += MOTE_VECTOR_BLOCK, b += MOTE_VECTOR_BLOCK_CONSTANTS) {
        int32_t sum[MOTE_VECTOR_BLOCK];
        memcpy(sum, b, sizeof sum);
        for (int32_t k = 0; k < r->count * r->runs; k++) {
            const mote_v_factor_t *x = r->rows[k / r->runs] + r->at + k % r->runs * r->apart;
            for (int32_t i = 0; i < g->fours; i++, x += 4) {
                for (int32_t j = 0; j < MOTE_VECTOR_BLOCK; j++, w += 4) {
                    sum[j] = mote_wrapping_add(sum[j], x[0] * w[0] + x[1] * w[1] + x[2] * w[2] + x[3] * w[3]);
                }
            }
        }
        mote_finish_block(sum, b, g->once, &g->output, out + c, g->channels - c);
    }
}

#endif

/* So many pixels of a row. The last tile may begin before the end of the one before it. */
static inline void mote_pixels_vectors(const mote_gemm_vectors_t *g, mote_runs_t r, int8_t *out, int32_t pixels) {
    const int32_t first = r.at;
    int32_t x = 0;
#if MOTE_VECTORS
#if MOTE_TILE == 8
    for (; x + 4 < pixels && pixels >= 8; x += 8) {
        x = mote_min(x, pixels - 8);
        r.at = first + x * r.pixel;
        mote_gemm_vectors_8(g, &r, out + x * g->channels);
    }
#endif
    for (; x < pixels && pixels >= 4; x += 4) {
        x = mote_min(x, pixels - 4);
        r.at = first + x * r.pixel;
        mote_gemm_vectors_4(g, &r, out + x * g->channels);
    }
#endif
    for (; x < pixels; x++) {
        r.at = first + x * r.pixel;
        mote_gemm_vectors_1(g, &r, out + x * g->channels);
    }
}

/* 1x1 convolutions, and fully connected layers: every pixel is a vector. */
typedef struct {
    int32_t depth, group; /* inputs of a vector, vectors that are widened at once */
    mote_gemm_vectors_t gemm;
} mote_pointwise_vectors_s8_t;

static inline void mote_pointwise_vectors_s8(const mote_pointwise_vectors_s8_t *p, const int8_t *in, int8_t *out,
                                             int32_t pixels, mote_any_t scratch) {
    const int32_t depth = p->depth;
    mote_v_factor_t *const x = scratch;
    const mote_v_factor_t *const rows[1] = {x};
    const mote_runs_t r = {rows, 1, 1, 0, 0, depth};
    for (int32_t n; pixels > 0; pixels -= n, in += n * depth, out += n * p->gemm.channels) {
        n = pixels < 2 * p->group ? mote_min(pixels, p->group) : p->group;
        mote_factors(in, x, n * depth);
        mote_fill_factors(0, x + n * depth, 3);
        mote_pixels_vectors(&p->gemm, r, out, n);
    }
}

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t in_channels, in_zero;
    int32_t width; /* inputs of a row with its padding */
    mote_gemm_vectors_t gemm;
} mote_conv2d_vectors_s8_t;

static inline void mote_conv2d_vectors_s8_row(const mote_conv2d_vectors_s8_t *p, const int8_t *const *rows, int8_t *out,
                                              mote_any_t scratch) {
    mote_v_factor_t *x = scratch;
    const mote_v_factor_t *wide[MOTE_MAX_TAPS];
    const mote_span_t *s = &p->cols;
    const int32_t depth = p->in_channels, left = s->pad * depth;
    const int32_t inside = mote_min(s->in_size * depth, p->width - left);
    for (int32_t k = 0; k < p->rows.taps; k++, x += p->width + 3) {
        wide[k] = x;
        if (rows[k] == NULL) {
            mote_fill_factors(p->in_zero, x, p->width);
        } else {
            mote_fill_factors(p->in_zero, x, left);
            mote_factors(rows[k], x + left, inside);
            mote_fill_factors(p->in_zero, x + left + inside, p->width - left - inside);
        }
        mote_fill_factors(0, x + p->width, 3);
    }
    const int32_t runs = s->spread == 1 ? 1 : s->taps;
    const mote_runs_t r = {wide, p->rows.taps, runs, s->spread * depth, 0, s->step * depth};
    mote_pixels_vectors(&p->gemm, r, out, s->out_size);
}

static inline void mote_conv2d_vectors_s8(const mote_conv2d_vectors_s8_t *p, const int8_t *in, int8_t *out, int32_t lo,
                                          int32_t hi, mote_any_t scratch) {
    const int8_t *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_s8(&p->rows, in, y, rows);
        mote_conv2d_vectors_s8_row(p, rows, out + y * p->rows.out_stride, scratch);
    }
}

#endif
