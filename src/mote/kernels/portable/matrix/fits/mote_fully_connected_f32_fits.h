/* mote_fully_connected_f32_fits.h: checks of the parameters of mote_fully_connected_f32.h. */
#ifndef MOTE_FULLY_CONNECTED_F32_FITS_H
#define MOTE_FULLY_CONNECTED_F32_FITS_H

#include "mote_common_fits.h"
#include "mote_fully_connected_f32.h"

static inline int mote_fully_connected_f32_fits(const mote_fully_connected_f32_t *p, const mote_room_t *room) {
    return mote_vectors_fit(room, p->depth, p->channels, 4) &&
           mote_array_fits(room, p->weights, p->channels, p->depth, 1, 1, 4) &&
           mote_array_fits(room, p->bias, p->channels, 1, 1, 1, 4);
}

#endif
