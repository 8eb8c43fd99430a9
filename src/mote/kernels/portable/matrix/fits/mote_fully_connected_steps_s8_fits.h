/* mote_fully_connected_steps_s8_fits.h: checks of the parameters of mote_fully_connected_steps_s8.h. */
#ifndef MOTE_FULLY_CONNECTED_STEPS_S8_FITS_H
#define MOTE_FULLY_CONNECTED_STEPS_S8_FITS_H

#include "mote_common_fits.h"
#include "mote_fully_connected_steps_s8.h"

static inline int mote_fully_connected_steps_s8_fits(const mote_fully_connected_steps_s8_t *p,
                                                     const mote_room_t *room) {
    return mote_vectors_fit(room, p->depth, p->channels, 1) && (p->step == 0 || p->step == 256) &&
           mote_array_fits(room, p->weights, p->channels, p->depth, 1, 1, 1) &&
           mote_array_fits(room, p->start, p->channels, 1, 1, 1, 4) &&
           mote_array_fits(room, p->steps, p->step ? p->channels : 1, 256, 1, 1, 4);
}

#endif
