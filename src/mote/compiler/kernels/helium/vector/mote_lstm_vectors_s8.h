/* mote_lstm_vectors_s8.h: mote_lstm_s8.h with vectors of weights. */
#ifndef MOTE_LSTM_VECTORS_S8_H
#define MOTE_LSTM_VECTORS_S8_H

#include "mote_lstm_s8.h"
#include "mote_matrix_vectors_s8.h"

typedef mote_lstm_s8_t mote_lstm_vectors_s8_t, mote_lstm_norm_vectors_s8_t, mote_lstm_stateless_vectors_s8_t;

MOTE_LSTM_S8(mote_lstm_vectors_s8, mote_matrix_gates_vectors, mote_matrix_vectors, NULL, 0)
MOTE_LSTM_S8(mote_lstm_norm_vectors_s8, mote_matrix_gates_vectors, mote_matrix_vectors, NULL, 1)
MOTE_LSTM_STATELESS_S8(mote_lstm_stateless_vectors_s8, mote_matrix_gates_vectors, mote_matrix_vectors, NULL)

#endif
