/* mote_lstm_s8.h: int8 LSTM over a sequence. Gates are computed in Q3.12, their activations in Q0.15; cells have 16 bits
 * with `cell_bits` of them before the point.
 *
 * Scratch: three gates, and the output before its projection, if there is one. Where weights are pairs, each vector that
 * is multiplied lies there as well, widened: two bytes for each value, padded to a multiple of eight. Where states are
 * only given, those of one sequence lie before all that: the output, padded to words, then the cells.
 */
#ifndef MOTE_LSTM_S8_H
#define MOTE_LSTM_S8_H

#include "mote_gates_s16.h"
#include "mote_inverse_sqrt.h"
#include "mote_matrix_s8.h"

/* Weights of the cells, where a gate sees them. */
typedef struct {
    const int16_t *weights;
    int32_t mult, shift;
} mote_lstm_peephole_t;

typedef struct {
    const int16_t *weights;
    const int32_t *bias;
    int32_t mult, shift;
    int32_t guard; /* the variance that stands in for none */
} mote_lstm_normalization_t;

typedef struct {
    mote_matrix_s8_t input, recurrent;
    mote_lstm_peephole_t peephole;
    mote_lstm_normalization_t norm;
} mote_lstm_gate_t;

typedef struct {
    int32_t mult, shift;
} mote_lstm_scale_t;

typedef struct {
    mote_lstm_gate_t input, forget, cell, output;
} mote_lstm_gates_t;

typedef struct {
    int32_t batch, time, cells, outputs;
    int32_t in_batch, in_time, out_batch, out_time; /* elements from one to the next */
    int32_t coupled;                                /* what is new is what was not kept: there is no input gate */
    int32_t cell_bits, cell_clip;
    int32_t hidden_zero;
    mote_lstm_scale_t hidden;
    mote_lstm_gates_t gate;
    int32_t projected, projection_zero, low, high;
    mote_matrix_s8_t projection;
} mote_lstm_s8_t;
typedef mote_lstm_s8_t mote_lstm_norm_s8_t, mote_lstm_stateless_s8_t;

/* A gate with mean 0 and variance 1, weighted. */
MOTE_NOINLINE void mote_lstm_normalize(const mote_lstm_normalization_t *p, int32_t n, int16_t *gate) {
    int64_t sum = 0, squares = 0;
    for (int32_t i = 0; i < n; i++) {
        sum += gate[i];
        squares += (int32_t)gate[i] * gate[i];
    }
    const int32_t mean = (int32_t)(sum * 1024 / n);
    const int64_t scaled = squares * (((int32_t)1 << 20) / n) - (int64_t)mean * mean;
    const int32_t variance = (int32_t)(scaled / ((int32_t)1 << 20));
    int32_t right;
    const int32_t mult = mote_inverse_sqrt(variance < 1 ? p->guard : variance, &right);
    for (int32_t i = 0; i < n; i++) {
        const int32_t centred = mote_rescale((int32_t)1024 * gate[i] - mean, mult, right - 1);
        const int64_t weighted = (int32_t)((uint32_t)centred * (uint32_t)p->weights[i] + (uint32_t)p->bias[i]);
        const int32_t rounded = (int32_t)((weighted > 0 ? weighted + 512 : weighted - 512) / 1024);
        gate[i] = (int16_t)mote_saturate_s16(mote_rescale(rounded, p->mult, p->shift));
    }
}

/* How a kernel computes: with which products, and whether gates are normalized. */
typedef struct {
    mote_matrix_gates_t *gates;
    mote_matrix_rows_t *rows;
    mote_matrix_widen_t *widen; /* NULL: vectors stay as they are */
    int32_t norm;
} mote_lstm_how_t;

/* A gate before its activation. LiteRT's peepholes see as many cells as there are outputs. */
MOTE_ALWAYS_INLINE void mote_lstm_gate(const mote_lstm_s8_t *p, const mote_lstm_gate_t *g, mote_lstm_how_t how,
                                       const void *x, const void *h, const int16_t *cell, int16_t *gate) {
    const mote_matrix_gate_t both = {&g->input, &g->recurrent, x, h};
    how.gates(&both, p->cells, gate);
    if (g->peephole.weights != NULL) {
        for (int32_t c = 0; c < p->outputs; c++) {
            const int32_t seen = mote_rescale((int32_t)g->peephole.weights[c] * cell[c], g->peephole.mult, g->peephole.shift);
            gate[c] = (int16_t)mote_saturate_s16(mote_wrapping_add(seen, gate[c]));
        }
    }
    if (how.norm) {
        mote_lstm_normalize(&g->norm, p->cells, gate);
    }
}

/* What gates make of the cells: `kept` is the share of each that stays, `input` that of what is new. */
static inline void mote_lstm_cells(const mote_lstm_s8_t *p, const int16_t *kept, int16_t *input, int16_t *fresh,
                                   int16_t *cell) {
    for (int32_t c = 0; p->coupled && c < p->cells; c++) {
        input[c] = (int16_t)((int32_t)32767 - kept[c]);
    }
    mote_tanh_run_s16(fresh, 3, fresh, p->cells);
    mote_cells_run_s16(kept, input, fresh, cell, p->cells, p->cell_bits, p->cell_clip);
}

/* One more input: the cells and the output h after it. */
MOTE_ALWAYS_INLINE void mote_lstm_step(const mote_lstm_s8_t *p, mote_lstm_how_t how, const int8_t *in, int8_t *h,
                                       int16_t *cell, uint32_t *scratch) {
    const int32_t cells = p->cells;
    const void *x = in, *last = h;
    if (how.widen != NULL) {
        x = scratch;
        how.widen(&p->gate.output.input, in, scratch);
        scratch += (p->gate.output.input.depth + 7) / 8 * 4;
        last = scratch;
        how.widen(&p->gate.output.recurrent, h, scratch);
        scratch += (p->outputs + 7) / 8 * 4;
    }
    uint32_t *widened = scratch; /* the output before its projection */
    scratch += how.widen != NULL && p->projected ? (cells + 7) / 8 * 4 : 0;
    int16_t *kept = (int16_t *)scratch, *fresh = kept + cells, *input = fresh + cells;
    mote_lstm_gate(p, &p->gate.forget, how, x, last, cell, kept);
    mote_logistic_run_s16(kept, cells);
    if (!p->coupled) {
        mote_lstm_gate(p, &p->gate.input, how, x, last, cell, input);
        mote_logistic_run_s16(input, cells);
    }
    mote_lstm_gate(p, &p->gate.cell, how, x, last, cell, fresh);
    mote_lstm_cells(p, kept, input, fresh, cell);
    mote_lstm_gate(p, &p->gate.output, how, x, last, cell, kept);
    mote_logistic_run_s16(kept, cells);
    int8_t *hidden = p->projected ? (int8_t *)(input + cells) : h;
    mote_tanh_run_s16(cell, p->cell_bits, fresh, cells);
    mote_shown_run_s16(kept, fresh, hidden, cells, p->hidden.mult, p->hidden.shift, p->hidden_zero);
    if (p->projected) {
        if (how.widen != NULL) {
            how.widen(&p->projection, hidden, widened);
        }
        for (int32_t c = 0; c < p->outputs; c += 4) {
            int32_t y[4];
            how.rows(&p->projection, c, how.widen != NULL ? (const void *)widened : hidden, y);
            for (int32_t i = 0; i < mote_min(4, p->outputs - c); i++) {
                h[c + i] = mote_clamp(mote_wrapping_add(y[i], p->projection_zero), p->low, p->high);
            }
        }
    }
}

/* All inputs of sequence b. */
MOTE_ALWAYS_INLINE void mote_lstm_sequence(const mote_lstm_s8_t *p, mote_lstm_how_t how, int32_t b, const int8_t *in,
                                           int8_t *h, int16_t *cell, int8_t *out, void *scratch) {
    for (int32_t t = 0; t < p->time; t++) {
        mote_lstm_step(p, how, in + b * p->in_batch + t * p->in_time, h, cell, (uint32_t *)scratch);
        memcpy(out + b * p->out_batch + t * p->out_time, h, (size_t)p->outputs);
    }
}

#define MOTE_LSTM_S8(name, gates, products, widen, norm) \
    static inline void name(const name##_t *p, const int8_t *in, int8_t *h, int16_t *cell, int8_t *out, \
                            void *scratch) { \
        const mote_lstm_how_t how = {gates, products, widen, norm}; \
        for (int32_t b = 0; b < p->batch; b++) { \
            mote_lstm_sequence(p, how, b, in, h + b * p->outputs, cell + b * p->cells, out, scratch); \
        } \
    }

#define MOTE_LSTM_STATELESS_S8(name, gates, products, widen) \
    static inline void name(const name##_t *p, const int8_t *in, const int8_t *h, const int16_t *cell, int8_t *out, \
                            void *scratch) { \
        const mote_lstm_how_t how = {gates, products, widen, 0}; \
        uint32_t *work = (uint32_t *)scratch, *cells = work + (p->outputs + 3) / 4, *rest = cells + (p->cells + 1) / 2; \
        for (int32_t b = 0; b < p->batch; b++) { \
            memcpy(work, h + b * p->outputs, (size_t)p->outputs); \
            memcpy(cells, cell + b * p->cells, 2 * (size_t)p->cells); \
            mote_lstm_sequence(p, how, b, in, (int8_t *)work, (int16_t *)cells, out, rest); \
        } \
    }

MOTE_LSTM_S8(mote_lstm_s8, mote_matrix_gates_bytes, mote_matrix_bytes, NULL, 0)
MOTE_LSTM_S8(mote_lstm_norm_s8, mote_matrix_gates_bytes, mote_matrix_bytes, NULL, 1)
MOTE_LSTM_STATELESS_S8(mote_lstm_stateless_s8, mote_matrix_gates_bytes, mote_matrix_bytes, NULL)

#endif
