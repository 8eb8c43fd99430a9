/* mote_svdf_s8_fits.h: whether parameters of mote_svdf_s8.h fit. */
#ifndef MOTE_SVDF_S8_FITS_H
#define MOTE_SVDF_S8_FITS_H

#include "mote_matrix_s8_fits.h"
#include "mote_svdf_s8.h"

static inline int mote_svdf_of_fits(const mote_svdf_s8_t *p, const mote_room_t *room, mote_matrix_fits_t *filters) {
    const uint32_t kept = mote_count(p->units, p->rank, p->memory, 2);
    return mote_of_tensors(room) && mote_count(p->units, p->rank, 1, 1) <= MOTE_LARGEST &&
           filters(&p->filters, room, p->units * p->rank) && mote_rescales(p->shift) &&
           mote_holds(room, p->time, kept, 2) && mote_holds(room, p->bias, mote_count(p->units, 4, 1, 1), 4) &&
           mote_takes(room, 0, mote_count(p->batch, p->filters.depth, 1, 1), 1) &&
           mote_keeps(room, 1, mote_much_times(mote_size(p->batch), kept), 2) &&
           mote_gives(room, mote_count(p->batch, p->units, 1, 1), 1);
}

static inline int mote_svdf_s8_fits(const mote_svdf_s8_t *p, const mote_room_t *room) {
    return mote_svdf_of_fits(p, room, mote_matrix_bytes_fit);
}

#endif
