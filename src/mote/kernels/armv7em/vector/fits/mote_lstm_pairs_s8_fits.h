/* mote_lstm_pairs_s8_fits.h: whether parameters of mote_lstm_pairs_s8.h fit. */
#ifndef MOTE_LSTM_PAIRS_S8_FITS_H
#define MOTE_LSTM_PAIRS_S8_FITS_H

#include "mote_lstm_pairs_s8.h"
#include "mote_lstm_s8_fits.h"

MOTE_LSTM_S8_FITS(mote_lstm_pairs_s8, mote_matrix_pairs_fit, 1, 0, 0)
MOTE_LSTM_S8_FITS(mote_lstm_norm_pairs_s8, mote_matrix_pairs_fit, 1, 1, 0)
MOTE_LSTM_S8_FITS(mote_lstm_stateless_pairs_s8, mote_matrix_pairs_fit, 1, 0, 1)

#endif
