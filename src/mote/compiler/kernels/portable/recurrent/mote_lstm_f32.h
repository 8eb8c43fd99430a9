/* mote_lstm_f32.h: float32 LSTM over a sequence. Scratch: four gates. */
#ifndef MOTE_LSTM_F32_H
#define MOTE_LSTM_F32_H

#include "mote_products_f32.h"
#include "mote_unary_f32.h"

static inline void mote_lstm_normalize_f32(const float *weights, const float *bias, int32_t n, float *gate) {
    float sum = 0.0f, squares = 0.0f;
    for (int32_t i = 0; i < n; i++) {
        sum += gate[i];
    }
    const float mean = sum / (float)n;
    for (int32_t i = 0; i < n; i++) {
        squares += (gate[i] - mean) * (gate[i] - mean);
    }
    const float scale = 1.0f / mote_sqrtf(squares / (float)n + 1e-8f);
    for (int32_t i = 0; i < n; i++) {
        gate[i] = (gate[i] - mean) * scale * weights[i] + bias[i];
    }
}

/* A layer over the type of its matrices: `add_products(m, x, depth, rows, sums)` adds a matrix times a vector, and
 * `weights_of(m)` is where a matrix lies. */
#define MOTE_LSTM_REAL(suffix, matrix_t, add_products, weights_of) \
    /* Weights of one gate; those that it lacks are NULL. */ \
    typedef struct { \
        matrix_t input;     /* [cells][inputs], as add_products reads it */ \
        matrix_t recurrent; /* [cells][outputs] */ \
        const float *bias; \
        const float *peephole; /* of the cells */ \
        const float *norm;     /* of the gate with mean 0 and variance 1 */ \
    } mote_lstm_gate_##suffix##_t; \
\
    typedef struct { \
        mote_lstm_gate_##suffix##_t input, forget, cell, output; \
    } mote_lstm_gates_##suffix##_t; \
\
    typedef struct { \
        int32_t batch, time, inputs, cells, outputs; \
        int32_t in_batch, in_time, out_batch, out_time; /* elements from one to the next */ \
        int32_t coupled;                                /* what is new is what was not kept: there is no input gate */ \
        float cell_clip, projection_clip; \
        mote_lstm_gates_##suffix##_t gate; \
        matrix_t projection; /* [outputs][cells] */ \
        const float *projection_bias; \
    } mote_lstm_##suffix##_t; \
\
    /* A gate before its activation. */ \
    static inline void mote_lstm_gate_##suffix(const mote_lstm_##suffix##_t *p, const mote_lstm_gate_##suffix##_t *g, \
                                               const float *x, const float *h, const float *cell, float *gate) { \
        for (int32_t c = 0; c < p->cells; c++) { \
            gate[c] = g->norm == NULL ? g->bias[c] : 0.0f; /* after the normalization where there is one */ \
        } \
        add_products(g->input, x, p->inputs, p->cells, gate); \
        add_products(g->recurrent, h, p->outputs, p->cells, gate); \
        for (int32_t c = 0; c < p->cells && g->peephole != NULL; c++) { \
            gate[c] += g->peephole[c] * cell[c]; \
        } \
        if (g->norm != NULL) { \
            mote_lstm_normalize_f32(g->norm, g->bias, p->cells, gate); \
        } \
    } \
\
    /* One more input: the cells and the output h after it. */ \
    static inline void mote_lstm_step_##suffix(const mote_lstm_##suffix##_t *p, const float *x, float *h, float *cell, \
                                               float *scratch) { \
        const int32_t cells = p->cells; \
        float *kept = scratch, *fresh = kept + cells, *input = fresh + cells, *shown = input + cells; \
        mote_lstm_gate_##suffix(p, &p->gate.forget, x, h, cell, kept); \
        mote_logistic_f32(NULL, kept, kept, cells); \
        if (!p->coupled) { \
            mote_lstm_gate_##suffix(p, &p->gate.input, x, h, cell, input); \
            mote_logistic_f32(NULL, input, input, cells); \
        } \
        mote_lstm_gate_##suffix(p, &p->gate.cell, x, h, cell, fresh); \
        mote_tanh_f32(NULL, fresh, fresh, cells); \
        for (int32_t c = 0; c < cells; c++) { \
            const float y = kept[c] * cell[c] + (p->coupled ? 1.0f - kept[c] : input[c]) * fresh[c]; \
            cell[c] = mote_clamp_f32(y, -p->cell_clip, p->cell_clip); \
        } \
        mote_lstm_gate_##suffix(p, &p->gate.output, x, h, cell, kept); \
        mote_logistic_f32(NULL, kept, kept, cells); \
        mote_tanh_f32(NULL, cell, shown, cells); \
        for (int32_t c = 0; c < cells; c++) { \
            shown[c] *= kept[c]; \
        } \
        if (weights_of(p->projection) == NULL) { \
            memcpy(h, shown, (size_t)cells * sizeof(float)); \
            return; \
        } \
        memcpy(h, p->projection_bias, (size_t)p->outputs * sizeof(float)); \
        add_products(p->projection, shown, cells, p->outputs, h); \
        for (int32_t i = 0; i < p->outputs; i++) { \
            h[i] = mote_clamp_f32(h[i], -p->projection_clip, p->projection_clip); \
        } \
    } \
\
    static inline void mote_lstm_##suffix(const mote_lstm_##suffix##_t *p, const float *in, float *h, float *cell, \
                                          float *out, void *scratch) { \
        for (int32_t b = 0; b < p->batch; b++, h += p->outputs, cell += p->cells) { \
            for (int32_t t = 0; t < p->time; t++) { \
                mote_lstm_step_##suffix(p, in + b * p->in_batch + t * p->in_time, h, cell, (float *)scratch); \
                memcpy(out + b * p->out_batch + t * p->out_time, h, (size_t)p->outputs * sizeof(float)); \
            } \
        } \
    }

#define MOTE_LSTM_WEIGHTS_F32(m) (m)
MOTE_LSTM_REAL(f32, const float *, mote_products_f32, MOTE_LSTM_WEIGHTS_F32)

#endif
