/* mote_fully_connected_hybrid_fits.h: checks of the parameters of mote_fully_connected_hybrid.h. */
#ifndef MOTE_FULLY_CONNECTED_HYBRID_FITS_H
#define MOTE_FULLY_CONNECTED_HYBRID_FITS_H

#include "mote_dot_hybrid_fits.h"
#include "mote_fully_connected_hybrid.h"

static inline int mote_fully_connected_hybrid_fits(const mote_fully_connected_hybrid_t *p, const mote_room_t *room) {
    return mote_vectors_fit(room, p->depth, p->channels, 4) &&
           mote_array_fits(room, p->weights, p->channels, p->depth, 1, 1, 1) &&
           mote_outputs_hybrid(room, p->channels, p->scale, p->step, p->bias);
}

#endif
