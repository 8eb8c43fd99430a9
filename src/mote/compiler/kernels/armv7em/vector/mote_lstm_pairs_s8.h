/* mote_lstm_pairs_s8.h: mote_lstm_s8.h with pairs of weights. */
#ifndef MOTE_LSTM_PAIRS_S8_H
#define MOTE_LSTM_PAIRS_S8_H

#include "mote_lstm_s8.h"
#include "mote_matrix_pairs_s8.h"

typedef mote_lstm_s8_t mote_lstm_pairs_s8_t, mote_lstm_norm_pairs_s8_t, mote_lstm_stateless_pairs_s8_t;

MOTE_LSTM_S8(mote_lstm_pairs_s8, mote_matrix_gates_pairs, mote_matrix_pairs, mote_matrix_widen, 0)
MOTE_LSTM_S8(mote_lstm_norm_pairs_s8, mote_matrix_gates_pairs, mote_matrix_pairs, mote_matrix_widen, 1)
MOTE_LSTM_STATELESS_S8(mote_lstm_stateless_pairs_s8, mote_matrix_gates_pairs, mote_matrix_pairs, mote_matrix_widen)

#endif
