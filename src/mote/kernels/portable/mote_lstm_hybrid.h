/* mote_lstm_hybrid.h: float32 LSTM over a sequence with int8 weights. Scratch: four gates. See mote_lstm_f32.h. */
#ifndef MOTE_LSTM_HYBRID_H
#define MOTE_LSTM_HYBRID_H

#include "mote_dot_hybrid.h"
#include "mote_lstm_f32.h"

typedef struct {
    const int8_t *weights; /* [rows][columns] */
    float scale;
} mote_lstm_matrix_hybrid_t;

/* Weights of one gate; those that it lacks are NULL. */
typedef struct {
    mote_lstm_matrix_hybrid_t input, recurrent;
    const float *bias;
    const float *peephole; /* of the cells */
    const float *norm;     /* of the gate with mean 0 and variance 1 */
} mote_lstm_gate_hybrid_t;

typedef struct {
    mote_lstm_gate_hybrid_t input, forget, cell, output;
} mote_lstm_gates_hybrid_t;

typedef struct {
    int32_t batch, time, inputs, cells, outputs;
    int32_t in_batch, in_time, out_batch, out_time; /* elements from one to the next */
    int32_t coupled;                                /* what is new is what was not kept: there is no input gate */
    float cell_clip, projection_clip;
    mote_lstm_gates_hybrid_t gate;
    mote_lstm_matrix_hybrid_t projection; /* [outputs][cells] */
    const float *projection_bias;
} mote_lstm_hybrid_t;

/* Row `row` of a matrix times n numbers. */
static inline float mote_lstm_row_hybrid(const mote_lstm_matrix_hybrid_t *m, int32_t row, const float *x, int32_t n) {
    return m->scale * mote_dot_hybrid(x, m->weights + row * n, n);
}

/* A gate before its activation. */
static inline void mote_lstm_gate_hybrid(const mote_lstm_hybrid_t *p, const mote_lstm_gate_hybrid_t *g, const float *x,
                                         const float *h, const float *cell, float *gate) {
    for (int32_t c = 0; c < p->cells; c++) {
        const float now = mote_lstm_row_hybrid(&g->input, c, x, p->inputs);
        gate[c] = now + mote_lstm_row_hybrid(&g->recurrent, c, h, p->outputs);
        if (g->norm == NULL) {
            gate[c] += g->bias[c];
        }
        if (g->peephole != NULL) {
            gate[c] += g->peephole[c] * cell[c];
        }
    }
    if (g->norm != NULL) {
        mote_lstm_normalize_f32(g->norm, g->bias, p->cells, gate);
    }
}

/* One more input: the cells and the output h after it. */
static inline void mote_lstm_step_hybrid(const mote_lstm_hybrid_t *p, const float *x, float *h, float *cell,
                                         float *scratch) {
    const int32_t cells = p->cells;
    float *kept = scratch, *fresh = kept + cells, *input = fresh + cells, *shown = input + cells;
    mote_lstm_gate_hybrid(p, &p->gate.forget, x, h, cell, kept);
    mote_logistic_f32(NULL, kept, kept, cells);
    if (!p->coupled) {
        mote_lstm_gate_hybrid(p, &p->gate.input, x, h, cell, input);
        mote_logistic_f32(NULL, input, input, cells);
    }
    mote_lstm_gate_hybrid(p, &p->gate.cell, x, h, cell, fresh);
    mote_tanh_f32(NULL, fresh, fresh, cells);
    for (int32_t c = 0; c < cells; c++) {
        const float y = kept[c] * cell[c] + (p->coupled ? 1.0f - kept[c] : input[c]) * fresh[c];
        cell[c] = mote_clamp_f32(y, -p->cell_clip, p->cell_clip);
    }
    mote_lstm_gate_hybrid(p, &p->gate.output, x, h, cell, kept);
    mote_logistic_f32(NULL, kept, kept, cells);
    mote_tanh_f32(NULL, cell, shown, cells);
    for (int32_t c = 0; c < cells; c++) {
        shown[c] *= kept[c];
    }
    if (p->projection.weights == NULL) {
        memcpy(h, shown, (size_t)cells * sizeof(float));
        return;
    }
    for (int32_t i = 0; i < p->outputs; i++) {
        const float y = p->projection_bias[i] + mote_lstm_row_hybrid(&p->projection, i, shown, cells);
        h[i] = mote_clamp_f32(y, -p->projection_clip, p->projection_clip);
    }
}

static inline void mote_lstm_hybrid(const mote_lstm_hybrid_t *p, const float *in, float *h, float *cell, float *out,
                                    void *scratch) {
    for (int32_t b = 0; b < p->batch; b++, h += p->outputs, cell += p->cells) {
        for (int32_t t = 0; t < p->time; t++) {
            mote_lstm_step_hybrid(p, in + b * p->in_batch + t * p->in_time, h, cell, (float *)scratch);
            memcpy(out + b * p->out_batch + t * p->out_time, h, (size_t)p->outputs * sizeof(float));
        }
    }
}

#endif
