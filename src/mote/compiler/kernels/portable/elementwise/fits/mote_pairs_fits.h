/* mote_pairs_fits.h: whether parameters of mote_pairs.h fit. */
#ifndef MOTE_PAIRS_FITS_H
#define MOTE_PAIRS_FITS_H

#include "mote_broadcast_fits.h"
#include "mote_pairs.h"

/* Two tensors of one shape, element by element. */
static inline int mote_both_fit(const mote_room_t *room, uint32_t one, uint32_t other, uint32_t to) {
    return mote_asks_units(room) && mote_takes(room, 0, mote_bytes_of(room->hi, 1, one), one) &&
           mote_takes(room, 1, mote_bytes_of(room->hi, 1, other), other) &&
           mote_gives(room, mote_bytes_of(room->hi, 1, to), to);
}

#endif
