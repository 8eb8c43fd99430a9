/* mote_scatter_into_fits.h: whether parameters of mote_scatter_into.h fit. */
#ifndef MOTE_SCATTER_INTO_FITS_H
#define MOTE_SCATTER_INTO_FITS_H

#include "mote_index_fits.h"
#include "mote_scatter_into.h"

static inline int mote_scatter_into_fits(const mote_scatter_into_t *p, const mote_room_t *room, uint32_t size) {
    const uint32_t part = mote_count(p->run, (int32_t)size, 1, 1);
    const uint32_t end = mote_much_plus(mote_tuples_reach(room, p->axis, p->depth), part);
    return mote_of_tensors(room) && mote_goes_on(room, mote_size(p->bytes)) &&
           mote_takes(room, 1, mote_much_times(mote_count(p->count, 1, 1, 1), part), 1) &&
           mote_indices_fit(room, 2, mote_count(p->count, p->depth, 1, 1), p->index_width) &&
           end <= mote_size(p->bytes);
}

#define MOTE_SCATTER_INTO_FITS(name, type, word, combined) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        return mote_scatter_into_fits(p, room, sizeof(type)); \
    }

#endif
