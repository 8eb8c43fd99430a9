/* mote_fully_connected8_s8.h: an int8 matrix times vectors, eight outputs at a time, for cores with Helium.
 *
 * A vector of sixteen inputs is multiplied with those of eight outputs, whose sums are core registers; weights are read
 * one after another. Sums move into the lanes of vectors of four outputs. The code depends on the depth and comes from
 * the compiler (helium/vector/vector_assembly.py); here is what surrounds it, and what it means in C.
 *
 * Eight outputs lie in the order 0, 2, 4, 6, 1, 3, 5, 7, so that they leave in theirs. Constants are vectors: what is
 * added to four outputs, their multipliers, and their shifts where results are rounded twice. Where all outputs have the
 * same scale (`same`) they are only what is added, and one multiplier is for all.
 */
#ifndef MOTE_FULLY_CONNECTED8_S8_H
#define MOTE_FULLY_CONNECTED8_S8_H

#include "mote_bytes.h"
#include "mote_lanes.h"

typedef struct {
    const int8_t *weights; /* [outputs in eights][steps of sixteen inputs][eight][sixteen] */
    const int32_t *constants;
    int32_t loops; /* rounds over the inputs, of as many steps as the code has */
    mote_lanes_t lanes;
    int32_t mult;            /* of all outputs, if they have the same scale */
    int32_t depth, channels; /* inputs and outputs */
} mote_fc8_t;

typedef struct {
    const mote_fc8_t *layer;
    const int8_t *in;
    int8_t *out;
} mote_fc8_call_t;

typedef void mote_fc8_code_t(mote_fc8_call_t *call);

#if MOTE_HELIUM
#define MOTE_FC8_CODE(id, steps, same, form, shift, text) MOTE_LANES_CODE(mote_fc8_##id, mote_fc8_call_t, text)
#else
#define MOTE_FC8_CODE(id, steps, same, form, shift, text) \
    MOTE_NOINLINE void mote_fc8_##id(mote_fc8_call_t *call) { mote_fc8(call, steps, same, mote_lane_##form, shift); }

MOTE_ALWAYS_INLINE void mote_fc8(mote_fc8_call_t *call, int32_t steps, int32_t same, mote_lane_t *lane, int32_t shift) {
    const mote_fc8_t *const p = call->layer;
    const int32_t vectors = p->loops * steps;
    for (int32_t c = 0; c < p->channels; c++) {
        const int32_t at = c / 8 * 8 + c % 2 * 4 + c % 8 / 2;
        const int8_t *const w = p->weights + c / 8 * vectors * 128 + at % 8 * 16;
        const int32_t *const q = p->constants;
        int32_t sum = 0, own[3] = {q[at], p->mult, 0};
        for (int32_t k = 0; k < vectors; k++) {
            for (int32_t i = 0; i < 16; i++) {
                sum += call->in[16 * k + i] * w[128 * k + i];
            }
        }
        for (int32_t i = 0; !same && i < 3; i++) {
            own[i] = q[at / 4 * 4 * p->lanes.constants + 4 * mote_min(i, p->lanes.constants - 1) + at % 4];
        }
        call->out[c] = lane(&p->lanes, sum, own, shift);
    }
}
#endif

/* `vectors` vectors. Where the depth is no multiple of sixteen they are copied, so that nothing behind them is read.
 * Working memory: such a copy. */
MOTE_ALWAYS_INLINE void mote_fully_connected8(const mote_fc8_t *p, mote_fc8_code_t *code, const int8_t *in, int8_t *out,
                                              int32_t vectors, int8_t *copy) {
    mote_fc8_call_t call = {p, in, out};
    for (; vectors > 0; vectors--, in += p->depth, call.out += p->channels) {
        call.in = in;
        if (p->depth % 16 != 0) {
            mote_bytes_copy(copy, in, p->depth);
            call.in = copy;
        }
        code(&call);
    }
}

/* Vectors in pieces, a row of a window each: they are copied to where they lie behind one another. */
typedef struct {
    mote_window_t rows;
    int32_t line; /* bytes of a row of the window */
    mote_fc8_t vector;
} mote_fc8_rows_t;

MOTE_ALWAYS_INLINE void mote_fully_connected8_row(const mote_fc8_rows_t *p, mote_fc8_code_t *code,
                                                  const int8_t *const *rows, int8_t *out, int8_t *copy) {
    mote_fc8_call_t call = {&p->vector, copy, out};
    for (int32_t k = 0; k < p->rows.taps; k++) {
        mote_bytes_copy(copy + k * p->line, rows[k], p->line);
    }
    code(&call);
}

#define MOTE_FULLY_CONNECTED8(id) \
    typedef mote_fc8_t mote_fully_connected8_##id##_t; \
    typedef mote_fc8_rows_t mote_fully_connected8_rows_##id##_t; \
    MOTE_NOINLINE void mote_fully_connected8_##id(const mote_fc8_t *p, const int8_t *in, int8_t *out, int32_t vectors, \
                                                  int8_t *scratch) { \
        mote_fully_connected8(p, mote_fc8_##id, in, out, vectors, scratch); \
    } \
    MOTE_NOINLINE void mote_fully_connected8_rows_##id##_row(const mote_fc8_rows_t *p, const int8_t *const *rows, \
                                                             int8_t *out, int8_t *scratch) { \
        mote_fully_connected8_row(p, mote_fc8_##id, rows, out, scratch); \
    } \
    MOTE_UNUSED static inline void mote_fully_connected8_rows_##id(const mote_fc8_rows_t *p, const int8_t *in, \
                                                                   int8_t *out, int32_t lo, int32_t hi, \
                                                                   int8_t *scratch) { \
        const int8_t *rows[MOTE_MAX_TAPS]; \
        for (int32_t y = lo; y < hi; y++) { \
            mote_window_s8(&p->rows, in, y, rows); \
            mote_fully_connected8_rows_##id##_row(p, rows, out + y * p->rows.out_stride, scratch); \
        } \
    }

#endif
