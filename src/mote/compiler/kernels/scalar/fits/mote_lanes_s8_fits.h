/* mote_lanes_s8_fits.h: checks of the structs of mote_lanes_s8.h. */
#ifndef MOTE_LANES_S8_FITS_H
#define MOTE_LANES_S8_FITS_H

#include "mote_common_fits.h"
#include "mote_lanes_s8.h"

/* Whether there are constants for so many channels. */
static inline int mote_lanes_channels_fit(const mote_lanes_channel_t *channel, const mote_room_t *room, int32_t count) {
    int fits = mote_counts(count) && mote_holds(room, channel, (uint32_t)count * sizeof *channel, 4);
    for (; fits && count > 0; count--, channel++) {
        fits = mote_within(channel->shift, 0, 31);
    }
    return fits;
}

#endif
