/* mote_depthwise_vectors_s8.h: int8 depthwise convolutions in the vectors of a computer, channels in the lanes.
 *
 * Rows are widened two at a time, an input of one beside that of the row below it, with the padding at their sides; an odd
 * last row lies beside zeros. One instruction then multiplies two inputs of each channel with their weights. Those are
 * packed by the compiler as [block of 16 channels][pair of rows][column][16 channels][2], with the zero point of the input
 * in the bias. */
#ifndef MOTE_DEPTHWISE_VECTORS_S8_H
#define MOTE_DEPTHWISE_VECTORS_S8_H

#include "mote_vectors.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t channels, in_zero;
    int32_t width; /* columns of a row with its padding */
    mote_output_t output;
    const int16_t *weights;
    const int32_t *block;
} mote_depthwise_vectors_s8_t;

/* Inputs of two rows as pairs: `n` of them. A row that is not there is `zero`. */
static inline void mote_pair_up(const int8_t *a, const int8_t *b, int32_t zero, int16_t *out, int32_t n) {
    if (a != NULL && b != NULL) {
        for (int32_t i = 0; i < n; i++) {
            out[2 * i] = a[i];
            out[2 * i + 1] = b[i];
        }
    } else {
        for (int32_t i = 0; i < n; i++) {
            out[2 * i] = a != NULL ? a[i] : (int16_t)zero;
            out[2 * i + 1] = b != NULL ? b[i] : (int16_t)zero;
        }
    }
}

#if MOTE_VECTORS

/* `n` pixels of a block of channels; `pixel` and `column` are from one to the next of them, `line` to the next pair of
 * rows. */
#define MOTE_DEPTHWISE_VECTORS(n, each) \
    MOTE_ALWAYS_INLINE void mote_depthwise_vectors_##n(const mote_depthwise_vectors_s8_t *p, const int32_t *b, \
                                                       const int16_t *from, const int16_t *weights, int32_t pixel, \
                                                       int32_t column, int32_t line, int8_t *out, int32_t left) { \
        const int32_t taps = p->cols.taps, pairs = (p->rows.taps + 1) / 2; \
        mote_v_t sum[(n) * MOTE_V_PAIRS]; \
        for (int32_t part = 0; part < MOTE_V_PAIRS; part++) { \
            const int32_t at = part * (2 * MOTE_VECTOR_BLOCK / MOTE_V_PAIRS); \
            const int16_t *w = weights + at; \
            mote_v_t MOTE_DEPTHWISE_SUMS_##n; \
            for (int32_t k = 0; k < pairs; k++) { \
                const int16_t *x = from + at + k * line; \
                for (int32_t t = 0; t < taps; t++, x += column, w += 2 * MOTE_VECTOR_BLOCK) { \
                    const mote_v_pairs_t v = mote_v_pairs(w); \
                    each(MOTE_DEPTHWISE_PRODUCT) \
                } \
            } \
            each(MOTE_DEPTHWISE_KEEP) \
        } \
        for (int32_t i = 0; i < (n); i++) { \
            mote_narrow_t bytes[MOTE_GROUPS]; \
            for (int32_t g = 0; g < MOTE_GROUPS; g++) { \
                const mote_lanes_t s = MOTE_PAIR_LANES_OF(sum + i * MOTE_V_PAIRS, g); \
                const mote_lanes_t start = mote_v_load(b + g * MOTE_VECTORS); \
                bytes[g] = mote_v_finish(mote_v_plus(s, start), b, g, 0, &p->output); \
            } \
            mote_v_store(bytes, out + i * p->channels, left); \
        } \
    }
#define MOTE_DEPTHWISE_SUMS_1 s0 = mote_v_zero()
#define MOTE_DEPTHWISE_SUMS_4 MOTE_DEPTHWISE_SUMS_1, s1 = mote_v_zero(), s2 = mote_v_zero(), s3 = mote_v_zero()
#define MOTE_DEPTHWISE_PRODUCT(p) s##p = mote_v_dot_pairs(s##p, v, mote_v_pairs(x + (p) * pixel));
#define MOTE_DEPTHWISE_KEEP(p) sum[(p) * MOTE_V_PAIRS + part] = s##p;
#define MOTE_DEPTHWISE_EACH_1(m) m(0)
#define MOTE_DEPTHWISE_EACH_4(m) m(0) m(1) m(2) m(3)

MOTE_DEPTHWISE_VECTORS(1, MOTE_DEPTHWISE_EACH_1)
MOTE_DEPTHWISE_VECTORS(4, MOTE_DEPTHWISE_EACH_4)

#else

MOTE_NOINLINE void mote_depthwise_vectors_1(const mote_depthwise_vectors_s8_t *p, const int32_t *b,
                                            const int16_t *from, const int16_t *w, int32_t pixel, int32_t column,
                                            int32_t line, int8_t *out, int32_t left) {
    int32_t sum[MOTE_VECTOR_BLOCK];
    (void)pixel;
    memcpy(sum, b, sizeof sum);
    for (int32_t k = 0; k < (p->rows.taps + 1) / 2; k++) {
        for (int32_t t = 0; t < p->cols.taps; t++, w += 2 * MOTE_VECTOR_BLOCK) {
            const int16_t *x = from + k * line + t * column;
            for (int32_t i = 0; i < MOTE_VECTOR_BLOCK; i++) {
                sum[i] = mote_wrapping_add(sum[i], x[2 * i] * w[2 * i] + x[2 * i + 1] * w[2 * i + 1]);
            }
        }
    }
    mote_finish_block(sum, b, 0, &p->output, out, left);
}

#endif

MOTE_NOINLINE void mote_depthwise_vectors_s8_row(const mote_depthwise_vectors_s8_t *p, const int8_t *const *rows,
                                                 int8_t *out, mote_any_t scratch) {
    int16_t *const wide = scratch;
    const mote_span_t *s = &p->cols;
    const int32_t channels = p->channels, pairs = (p->rows.taps + 1) / 2;
    const int32_t inside = mote_min(s->in_size, p->width - s->pad), after = p->width - s->pad - inside;
    const int32_t line = 2 * (p->width * channels + MOTE_VECTOR_BLOCK), column = 2 * s->spread * channels;
    for (int32_t k = 0; k < pairs; k++) {
        int16_t *x = wide + k * line;
        const int8_t *a = rows[2 * k], *b = 2 * k + 1 < p->rows.taps ? rows[2 * k + 1] : NULL;
        mote_pair_up(NULL, NULL, p->in_zero, x, s->pad * channels);
        mote_pair_up(a, b, p->in_zero, x + 2 * s->pad * channels, inside * channels);
        mote_pair_up(NULL, NULL, p->in_zero, x + 2 * (s->pad + inside) * channels, after * channels + MOTE_VECTOR_BLOCK);
    }
    for (int32_t c = 0; c < channels; c += MOTE_VECTOR_BLOCK) {
        const int32_t block = c / MOTE_VECTOR_BLOCK, step = 2 * s->step * channels;
        const int16_t *w = p->weights + block * (pairs * s->taps * 2 * MOTE_VECTOR_BLOCK), *from = wide + 2 * c;
        int32_t x = 0;
#if MOTE_VECTORS
        for (; x < s->out_size && s->out_size >= 4; x += 4) {
            x = mote_min(x, s->out_size - 4);
            mote_depthwise_vectors_4(p, p->block + block * MOTE_VECTOR_BLOCK_CONSTANTS, from + x * step, w, step, column, line, out + x * channels + c,
                                     channels - c);
        }
#endif
        for (; x < s->out_size; x++) {
            mote_depthwise_vectors_1(p, p->block + block * MOTE_VECTOR_BLOCK_CONSTANTS, from + x * step, w, step, column, line, out + x * channels + c,
                                     channels - c);
        }
    }
}

static inline void mote_depthwise_vectors_s8(const mote_depthwise_vectors_s8_t *p, const int8_t *in, int8_t *out,
                                             int32_t lo, int32_t hi, mote_any_t scratch) {
    const int8_t *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_s8(&p->rows, in, y, rows);
        mote_depthwise_vectors_s8_row(p, rows, out + y * p->rows.out_stride, scratch);
    }
}

#endif
