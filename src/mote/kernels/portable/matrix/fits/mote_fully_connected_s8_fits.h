/* mote_fully_connected_s8_fits.h: checks of the parameters of mote_fully_connected_s8.h. */
#ifndef MOTE_FULLY_CONNECTED_S8_FITS_H
#define MOTE_FULLY_CONNECTED_S8_FITS_H

#include "mote_common_fits.h"
#include "mote_fully_connected_s8.h"

/* The least shift that mote_finish_fc takes. */
static inline int32_t mote_least_shift_fc(int32_t once) { return once ? -31 : -32; }

/* Outputs come in fours, whose inputs do as well, and one by one. */
static inline int mote_fully_connected_s8_fits(const mote_fully_connected_s8_t *p, const mote_room_t *room) {
    const uint32_t depth = mote_size(p->depth), channels = mote_size(p->channels);
    return mote_vectors_fit(room, p->depth, p->channels, 1) &&
           mote_channels_fit(p->channel, room, p->channels, mote_least_shift_fc(p->round_once)) &&
           mote_holds(room, p->weights,
                      mote_much_plus(mote_much_times(channels / 4, (depth + 3) / 4 * 16), channels % 4 * depth), 4);
}

#endif
