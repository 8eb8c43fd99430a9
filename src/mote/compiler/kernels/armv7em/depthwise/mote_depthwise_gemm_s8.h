/* mote_depthwise_gemm_s8.h: int8 depthwise convolution with 3x3 windows over planar rows and the 1x1 convolution behind
 * it, at once, for cores with DSP instructions.
 *
 * What the depthwise convolution gives is never in memory as bytes: it is stored as the widened inputs that the code of
 * mote_gemm4x2_s8.h reads, [4 pixels] words of 2 channels. A word holds channel k and the one that is half of all
 * channels further on, so that each half of the channels is one call of the code that armv7em/two_rows.py makes, and
 * weights of the 1x1 convolution come in that order. Rows are blocks of four pixels. Scratch: one row of widened
 * inputs, or two of them where two rows are made at once.
 */
#ifndef MOTE_DEPTHWISE_GEMM_S8_H
#define MOTE_DEPTHWISE_GEMM_S8_H

#include "mote_depthwise_two_s8.h"
#include "mote_gemm4x2_s8.h"

typedef struct {
    mote_planar_t planar;
    mote_gemm3_t gemm;
    int32_t half;       /* words of the records of half of the channels */
    int32_t out_stride; /* bytes of an output row */
} mote_depthwise_gemm_t;

/* Widened inputs of one row of outputs, or of two; from rows anywhere. */
typedef void mote_widened_row_t(const mote_depthwise_gemm_t *p, const int8_t *const *rows, uint32_t *scratch);

/* Words of a row of widened inputs. */
static inline int32_t mote_widened_words(const mote_depthwise_gemm_t *p) {
    return p->planar.outputs * p->planar.channels / 2;
}

#if MOTE_DSP
/* Both halves of the channels. */
MOTE_ALWAYS_INLINE void mote_widened_halves(const mote_depthwise_gemm_t *p, const int8_t *in, uint32_t *scratch,
                                            const int32_t *ways, mote_two_t *code) {
    const int32_t half = p->planar.channels / 2, line = p->planar.columns + p->planar.skip;
    int8_t *const to = (int8_t *)scratch;
    code(in, p->planar.records, to, half, ways);
    code(in + half * line, p->planar.records + p->half, to + 2, half, ways);
}

/* One row: where its first input is, and the ways from there. The middle one of the rows under it is always there; it
 * stands in for another that is not. */
MOTE_NOINLINE const int8_t *mote_widened_ways(const int8_t *const *rows, int32_t *ways) {
    const int8_t *const first = rows[0] != NULL ? rows[0] : rows[1], *const last = rows[2] != NULL ? rows[2] : rows[1];
    ways[0] = rows[0] != NULL ? -1 : 0;
    ways[1] = mote_two_way(first, rows[1]);
    ways[2] = mote_two_way(rows[1], last);
    ways[3] = mote_two_way(last, first);
    ways[4] = rows[2] != NULL ? -1 : 0;
    return first;
}

#define MOTE_WIDENED_ROW(id, weights, stride, form, s) \
    MOTE_NOINLINE void mote_##id##_widened(const mote_depthwise_gemm_t *p, const int8_t *const *rows, \
                                           uint32_t *scratch) { \
        int32_t ways[5]; \
        const int8_t *const first = mote_widened_ways(rows, ways); \
        mote_widened_halves(p, first, scratch, ways, mote_##id##_one); \
    }
#else
static inline void mote_widened_halves(const mote_depthwise_gemm_t *p, const int8_t *in, uint32_t *scratch,
                                       const int32_t *ways, mote_two_t *code) {
    (void)p, (void)in, (void)scratch, (void)ways, (void)code;
}

/* What the assembly does. */
static inline void mote_widened_c(const mote_depthwise_gemm_t *p, const int8_t *const *rows, uint32_t *to, int32_t w8,
                                  int32_t step, int32_t linear, int32_t s) {
    const int32_t half = p->planar.channels / 2, record = mote_planar_record(w8, linear);
    for (int32_t x = 0; x < p->planar.outputs; x++) {
        for (int32_t k = 0; k < half; k++) {
            const int32_t *const q = p->planar.records + k * record;
            const int8_t a = mote_planar_output(&p->planar, rows, q, k, x, w8, step, linear, s);
            const int8_t b = mote_planar_output(&p->planar, rows, q + p->half, k + half, x, w8, step, linear, s);
            to[(x / 4 * half + k) * 4 + x % 4] = (uint32_t)(uint16_t)a | (uint32_t)(uint16_t)b << 16;
        }
    }
}

#define MOTE_WIDENED_ROW(id, weights, stride, form, s) \
    MOTE_NOINLINE void mote_##id##_widened(const mote_depthwise_gemm_t *p, const int8_t *const *rows, \
                                           uint32_t *scratch) { \
        mote_widened_c(p, rows, scratch, mote_planar_##weights, mote_planar_##stride, mote_planar_##form, s); \
    }
#endif

/* What a row of outputs is computed from: its widened inputs. */
MOTE_NOINLINE void mote_widened_frame(const mote_depthwise_gemm_t *p, uint32_t *inputs, int8_t *out,
                                      mote_gemm4x2_frame_t *f) {
    mote_gemm4x2_frame(&p->gemm, inputs, f);
    if (p->gemm.planes > 0) {
        mote_gemm4x2_pad(&p->gemm, p->planar.outputs, out);
    }
    for (int32_t i = 0; i < 4; i++) {
        f->to[i] = mote_gemm4x2_to(&p->gemm, out, i);
    }
    f->blocks = p->planar.outputs / 4;
}

typedef void mote_widened_gemm_t(const mote_depthwise_gemm_t *p, uint32_t *inputs, int8_t *out);

/* Output rows lo..hi-1 of tensors whose rows lie one after another; without `two` one by one. */
MOTE_ALWAYS_INLINE void mote_depthwise_gemm(const mote_depthwise_gemm_t *p, const int8_t *in, int8_t *out, int32_t lo,
                                            int32_t hi, mote_widened_row_t *one, mote_two_t *two,
                                            mote_widened_gemm_t *gemm, uint32_t *scratch) {
    const mote_window_t *const w = &p->planar.rows;
    const int8_t *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        int8_t *const to = out + y * p->out_stride;
        mote_window_s8(w, in, y, rows);
        if (two != NULL && y + 1 < hi && mote_two_inside(w, y)) {
            mote_widened_halves(p, rows[0], scratch, NULL, two);
            gemm(p, scratch + mote_widened_words(p), to + p->out_stride);
            y++;
        } else {
            one(p, rows, scratch);
        }
        gemm(p, scratch, to);
    }
}

/* Some rows of outputs, wherever they and the rows under them lie. */
MOTE_ALWAYS_INLINE void mote_depthwise_gemm_anywhere(const mote_depthwise_gemm_t *p, const int8_t *const *rows,
                                                     int8_t *const *outs, int32_t count, mote_widened_row_t *one,
                                                     mote_two_t *two, mote_widened_gemm_t *gemm,
                                                     uint32_t *scratch) {
    const int32_t step = p->planar.rows.step, words = mote_widened_words(p);
    if (two != NULL && count == 2 && rows[0] != NULL && rows[step + 2] != NULL) {
        int32_t ways[MOTE_TWO_WAYS];
        mote_two_ways(rows, step, ways);
        ways[0] = 4 * words;
        mote_widened_halves(p, rows[0], scratch, ways, two);
        gemm(p, scratch, outs[0]);
        gemm(p, scratch + words, outs[1]);
    } else {
        for (int32_t i = 0; i < count; i++) {
            one(p, rows + i * step, scratch);
            gemm(p, scratch, outs[i]);
        }
    }
}

/* What a model instantiates beside the code: a row at a time, or two; with code for its own shape, or for any. */
#define MOTE_WIDENED_GEMM(id, blocks, ...) \
    MOTE_NOINLINE void mote_##id##_gemm(const mote_depthwise_gemm_t *p, uint32_t *inputs, int8_t *out) { \
        mote_gemm4x2_frame_t frame; \
        mote_widened_frame(p, inputs, out, &frame); \
        mote_gemm4x2_##blocks(__VA_ARGS__); \
    }
#define MOTE_DEPTHWISE_GEMM(id, blocks, weights, stride, form, s) \
    MOTE_WIDENED_GEMM(id, blocks, &frame) \
    MOTE_DEPTHWISE_GEMM_ROW(id, weights, stride, form, s)
#define MOTE_DEPTHWISE_GEMM_ANY(id, blocks, weights, stride, form, s) \
    MOTE_WIDENED_GEMM(id, blocks, &frame, &p->gemm, MOTE_GEMM4X2_WIDENED) \
    MOTE_DEPTHWISE_GEMM_ROW(id, weights, stride, form, s)
#define MOTE_DEPTHWISE_GEMM_TWO(id, blocks, weights, stride, form, s) \
    MOTE_WIDENED_GEMM(id, blocks, &frame) \
    MOTE_DEPTHWISE_GEMM_ROWS(id, weights, stride, form, s)
#define MOTE_DEPTHWISE_GEMM_TWO_ANY(id, blocks, weights, stride, form, s) \
    MOTE_WIDENED_GEMM(id, blocks, &frame, &p->gemm, MOTE_GEMM4X2_WIDENED) \
    MOTE_DEPTHWISE_GEMM_ROWS(id, weights, stride, form, s)
#define MOTE_DEPTHWISE_GEMM_ROW(id, weights, stride, form, s) \
    MOTE_WIDENED_ROW(id, weights, stride, form, s) \
    typedef mote_depthwise_gemm_t mote_##id##_t; \
    MOTE_NOINLINE void mote_##id(const mote_depthwise_gemm_t *p, const int8_t *in, int8_t *out, int32_t lo, \
                                 int32_t hi, uint32_t *scratch) { \
        mote_depthwise_gemm(p, in, out, lo, hi, mote_##id##_widened, NULL, mote_##id##_gemm, scratch); \
    } \
    MOTE_NOINLINE void mote_##id##_row(const mote_depthwise_gemm_t *p, const int8_t *const *rows, int8_t *out, \
                                       uint32_t *scratch) { \
        mote_##id##_widened(p, rows, scratch); \
        mote_##id##_gemm(p, scratch, out); \
    }
#define MOTE_DEPTHWISE_GEMM_ROWS(id, weights, stride, form, s) \
    MOTE_WIDENED_ROW(id, weights, stride, form, s) \
    typedef mote_depthwise_gemm_t mote_##id##_t; \
    MOTE_NOINLINE void mote_##id(const mote_depthwise_gemm_t *p, const int8_t *in, int8_t *out, int32_t lo, \
                                 int32_t hi, uint32_t *scratch) { \
        mote_depthwise_gemm(p, in, out, lo, hi, mote_##id##_widened, MOTE_TWO_NEAR(id), mote_##id##_gemm, scratch); \
    } \
    MOTE_NOINLINE void mote_##id##_rows(const mote_depthwise_gemm_t *p, const int8_t *const *rows, \
                                        int8_t *const *outs, int32_t count, uint32_t *scratch) { \
        mote_depthwise_gemm_anywhere(p, rows, outs, count, mote_##id##_widened, MOTE_TWO_ANYWHERE(id), \
                                     mote_##id##_gemm, scratch); \
    }

#endif
