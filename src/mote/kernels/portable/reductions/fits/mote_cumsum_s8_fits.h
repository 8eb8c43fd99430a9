/* mote_cumsum_s8_fits.h: whether parameters of mote_cumsum_s8.h fit. */
#ifndef MOTE_CUMSUM_S8_FITS_H
#define MOTE_CUMSUM_S8_FITS_H

#include "mote_cumsum_fits.h"
#include "mote_cumsum_s8.h"

static inline int mote_cumsum_s8_fits(const mote_cumsum_s8_t *p, const mote_room_t *room) {
    return mote_cumsum_fits(&p->over, room, 1) && mote_rescales(p->shift);
}

#endif
