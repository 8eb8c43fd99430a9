/* mote_lstm_backward_f32_fits.h: whether parameters of mote_lstm_backward_f32.h fit. */
#ifndef MOTE_LSTM_BACKWARD_F32_FITS_H
#define MOTE_LSTM_BACKWARD_F32_FITS_H

#include "mote_lstm_backward_f32.h"
#include "mote_lstm_f32_fits.h"

static inline int mote_lstm_backward_f32_fits(const mote_lstm_backward_f32_t *p, const mote_room_t *room) {
    return mote_lstm_f32_fits(p, room);
}

#endif
