/* mote_rvv_fits.h: checks of the structs of mote_rvv.h. */
#ifndef MOTE_RVV_FITS_H
#define MOTE_RVV_FITS_H

#include "mote_common_fits.h"
#include "mote_rvv.h"

/* Whether there are constants for all channels, with shifts that a number of 32 bits can take. */
static inline int mote_rvv_output_fits(const mote_rvv_output_t *o, const mote_room_t *room, int32_t channels) {
    const int32_t *channel = o->channel;
    if (!mote_counts(channels) || channels < 1 || !mote_holds(room, channel, mote_bytes_of(channels, 12, 1), 4)) {
        return 0;
    }
    for (int32_t left = channels; left > 0; left -= MOTE_RVV_LANES) {
        const int32_t lanes = left < MOTE_RVV_LANES ? left : MOTE_RVV_LANES;
        for (int32_t c = 0; c < lanes; c++) {
            if (!mote_within(channel[2 * lanes + c], 1, 31)) {
                return 0;
            }
        }
        channel += 3 * lanes;
    }
    return 1;
}

#endif
