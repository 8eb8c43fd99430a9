/* mote_prelu_s8_fits.h: checks of the parameters of mote_prelu_s8.h. */
#ifndef MOTE_PRELU_S8_FITS_H
#define MOTE_PRELU_S8_FITS_H

#include "mote_broadcast_fits.h"
#include "mote_prelu_s8.h"

static inline int mote_prelu_s8_fits(const mote_prelu_s8_t *p, const mote_room_t *room) {
    return mote_rescales(p->above.shift) && mote_rescales(p->below.shift) &&
           mote_broadcast_fits(&p->walk, room, 1, 1, 1, 1);
}

#endif
