/* mote_fully_connected_even_s8_fits.h: checks of the parameters of mote_fully_connected_even_s8.h. */
#ifndef MOTE_FULLY_CONNECTED_EVEN_S8_FITS_H
#define MOTE_FULLY_CONNECTED_EVEN_S8_FITS_H

#include "mote_even_fits.h"
#include "mote_fully_connected_even_s8.h"

static inline int mote_fully_connected_even_s8_fits(const mote_fully_connected_even_s8_t *p, const mote_room_t *room) {
    const uint32_t depth = mote_size(p->depth), channels = mote_size(p->channels);
    return mote_vectors_fit(room, p->depth, p->channels, 1) &&
           mote_evens_fit(p->channel, room, p->channels) &&
           mote_holds(room, p->weights,
                      mote_much_plus(mote_much_times(channels / 4, (depth + 3) / 4 * 16), channels % 4 * depth), 4);
}

#endif
