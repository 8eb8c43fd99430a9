/* mote_lstm_hybrid.h: float32 LSTM over a sequence with int8 weights. Scratch: four gates. See mote_lstm_f32.h. */
#ifndef MOTE_LSTM_HYBRID_H
#define MOTE_LSTM_HYBRID_H

#include "mote_dot_hybrid.h"
#include "mote_lstm_f32.h"

typedef struct {
    const int8_t *weights; /* [rows][columns] */
    float scale;
} mote_lstm_matrix_hybrid_t;

static inline void mote_lstm_products_hybrid(mote_lstm_matrix_hybrid_t m, const float *x, int32_t depth, int32_t rows,
                                             float *sums) {
    for (int32_t i = 0; i < rows; i++) {
        sums[i] += m.scale * mote_dot_hybrid(x, m.weights + i * depth, depth);
    }
}

#define MOTE_LSTM_WEIGHTS_HYBRID(m) (m).weights
MOTE_LSTM_REAL(hybrid, mote_lstm_matrix_hybrid_t, mote_lstm_products_hybrid, MOTE_LSTM_WEIGHTS_HYBRID)

#endif
