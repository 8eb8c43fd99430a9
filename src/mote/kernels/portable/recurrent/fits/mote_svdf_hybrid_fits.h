/* mote_svdf_hybrid_fits.h: whether parameters of mote_svdf_hybrid.h fit. */
#ifndef MOTE_SVDF_HYBRID_FITS_H
#define MOTE_SVDF_HYBRID_FITS_H

#include "mote_elements_fits.h"
#include "mote_svdf_hybrid.h"

static inline int mote_svdf_hybrid_fits(const mote_svdf_hybrid_t *p, const mote_room_t *room) {
    const uint32_t kept = mote_count(p->units, p->rank, p->memory, 1);
    return mote_of_tensors(room) && mote_holds(room, p->weights, mote_count(p->units, p->rank, p->inputs, 1), 1) &&
           mote_holds(room, p->time, kept, 1) && mote_holds(room, p->bias, mote_count(p->units, 4, 1, 1), 4) &&
           mote_takes(room, 0, mote_count(p->batch, p->inputs, 4, 1), 4) &&
           mote_keeps(room, 1, mote_much_times(mote_count(p->batch, 4, 1, 1), kept), 4) &&
           mote_gives(room, mote_count(p->batch, p->units, 4, 1), 4);
}

#endif
