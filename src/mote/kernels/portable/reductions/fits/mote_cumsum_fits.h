/* mote_cumsum_fits.h: whether parameters of mote_cumsum.h fit. */
#ifndef MOTE_CUMSUM_FITS_H
#define MOTE_CUMSUM_FITS_H

#include "mote_cumsum.h"
#include "mote_elements_fits.h"

static inline int mote_cumsum_fits(const mote_cumsum_t *p, const mote_room_t *room, uint32_t size) {
    const uint32_t bytes = mote_count(room->hi, p->count, p->inner, (int32_t)size);
    return mote_of_tensors(room) && mote_takes(room, 0, bytes, size) && mote_gives(room, bytes, size);
}

#define MOTE_CUMSUM_FITS(name, T, A) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        return mote_cumsum_fits(p, room, sizeof(T)); \
    }

#endif
