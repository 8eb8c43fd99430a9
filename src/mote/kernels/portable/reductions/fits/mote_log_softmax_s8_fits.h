/* mote_log_softmax_s8_fits.h: checks of the parameters of mote_log_softmax_s8.h. */
#ifndef MOTE_LOG_SOFTMAX_S8_FITS_H
#define MOTE_LOG_SOFTMAX_S8_FITS_H

#include "mote_log_softmax_s8.h"
#include "mote_softmax_s8_fits.h"

static inline int mote_log_softmax_s8_fits(const mote_log_softmax_s8_t *p, const mote_room_t *room) {
    return mote_softmax_s8_fits(&p->steps, room) && mote_rescales(p->back_shift);
}

#endif
