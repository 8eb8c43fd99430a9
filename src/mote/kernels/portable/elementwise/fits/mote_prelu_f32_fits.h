/* mote_prelu_f32_fits.h: checks of the parameters of mote_prelu_f32.h. */
#ifndef MOTE_PRELU_F32_FITS_H
#define MOTE_PRELU_F32_FITS_H

#include "mote_broadcast_fits.h"
#include "mote_prelu_f32.h"

static inline int mote_prelu_f32_fits(const mote_prelu_f32_t *p, const mote_room_t *room) {
    return mote_broadcast_fits(&p->walk, room, 1, 4, 4, 4);
}

#endif
