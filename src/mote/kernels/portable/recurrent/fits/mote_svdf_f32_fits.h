/* mote_svdf_f32_fits.h: whether parameters of mote_svdf_f32.h fit. */
#ifndef MOTE_SVDF_F32_FITS_H
#define MOTE_SVDF_F32_FITS_H

#include "mote_elements_fits.h"
#include "mote_svdf_f32.h"

static inline int mote_svdf_f32_fits(const mote_svdf_f32_t *p, const mote_room_t *room) {
    const uint32_t kept = mote_count(p->units, p->rank, p->memory, 4);
    return mote_of_tensors(room) && mote_holds(room, p->weights, mote_count(p->units, p->rank, p->inputs, 4), 4) &&
           mote_holds(room, p->time, kept, 4) && mote_holds(room, p->bias, mote_count(p->units, 4, 1, 1), 4) &&
           mote_takes(room, 0, mote_count(p->batch, p->inputs, 4, 1), 4) &&
           mote_keeps(room, 1, mote_much_times(mote_size(p->batch), kept), 4) &&
           mote_gives(room, mote_count(p->batch, p->units, 4, 1), 4);
}

#endif
