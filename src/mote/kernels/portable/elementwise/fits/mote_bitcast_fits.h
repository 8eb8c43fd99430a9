/* mote_bitcast_fits.h: whether parameters of mote_bitcast.h fit. */
#ifndef MOTE_BITCAST_FITS_H
#define MOTE_BITCAST_FITS_H

#include "mote_bitcast.h"
#include "mote_elements_fits.h"

#define MOTE_BITCAST_FITS(name, from, to) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        (void)p; \
        return mote_each_fits(room, room->hi, sizeof(from), sizeof(to)); \
    }

#endif
