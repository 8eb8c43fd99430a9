/* mote_lanes_fits.h: whether the constants of mote_lanes.h fit. */
#ifndef MOTE_LANES_FITS_H
#define MOTE_LANES_FITS_H

#include "mote_common_fits.h"
#include "mote_lanes.h"

/* Constants of a channel; what `twice` shifts by is the last of three, to the left. */
#define MOTE_LANES_COUNT_line 2
#define MOTE_LANES_COUNT_twice 3

/* Whether there is room for the constants of `padded` channels, `count` of each. */
static inline int mote_lanes_hold(const mote_room_t *room, const int32_t *constants, int32_t padded, int32_t count) {
    return mote_array_fits(room, constants, padded, count, 1, 1, 4);
}

static inline int mote_lane_shifts(int32_t left) { return mote_within(left, -31, -1); }

/* Whether all channels can be shifted: constants of one lie behind one another. */
MOTE_NOINLINE int mote_lanes_fit(const mote_room_t *room, const int32_t *constants, int32_t channels, int32_t padded,
                                 int32_t count) {
    int fits = mote_lanes_hold(room, constants, padded, count);
    for (int32_t c = 0; fits && count == MOTE_LANES_COUNT_twice && c < channels; c++) {
        fits = mote_lane_shifts(constants[3 * c + 2]);
    }
    return fits;
}

#endif
