/* mote_lstm_hybrid.h: float32 LSTM over a sequence with int8 weights. Scratch: four gates. See mote_lstm_f32.h. */
#ifndef MOTE_LSTM_HYBRID_H
#define MOTE_LSTM_HYBRID_H

#include "mote_dot_hybrid.h"
#include "mote_lstm_f32.h"

typedef struct {
    const int8_t *weights; /* [rows][columns] */
    float scale;
} mote_lstm_matrix_hybrid_t;

/* Row `row` of a matrix times n numbers. */
static inline float mote_lstm_row_hybrid(const mote_lstm_matrix_hybrid_t *m, int32_t row, const float *x, int32_t n) {
    return m->scale * mote_dot_hybrid(x, m->weights + row * n, n);
}

#define MOTE_LSTM_GATE_HYBRID(to, p, g, c, x, h) \
    const float now = mote_lstm_row_hybrid(&(g)->input, c, x, (p)->inputs); \
    to = now + mote_lstm_row_hybrid(&(g)->recurrent, c, h, (p)->outputs); \
    if ((g)->norm == NULL) { \
        to += (g)->bias[c]; \
    } \
    (void)0
#define MOTE_LSTM_PROJECTED_HYBRID(p, i, shown) \
    ((p)->projection_bias[i] + mote_lstm_row_hybrid(&(p)->projection, i, shown, (p)->cells))
#define MOTE_LSTM_WEIGHTS_HYBRID(m) (m).weights
MOTE_LSTM_REAL(hybrid, mote_lstm_matrix_hybrid_t, MOTE_LSTM_GATE_HYBRID, MOTE_LSTM_PROJECTED_HYBRID,
               MOTE_LSTM_WEIGHTS_HYBRID)

#endif
