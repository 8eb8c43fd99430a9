/* mote_svdf_state8_s8_fits.h: whether parameters of mote_svdf_state8_s8.h fit. */
#ifndef MOTE_SVDF_STATE8_S8_FITS_H
#define MOTE_SVDF_STATE8_S8_FITS_H

#include "mote_matrix_s8_fits.h"
#include "mote_svdf_state8_s8.h"

static inline int mote_svdf_state8_of_fits(const mote_svdf_state8_s8_t *p, const mote_room_t *room,
                                           mote_matrix_fits_t *filters) {
    const uint32_t kept = mote_count(p->units, p->rank, p->memory, 1);
    return mote_of_tensors(room) && mote_count(p->units, p->rank, 1, 1) <= MOTE_LARGEST &&
           filters(&p->filters, room, p->units * p->rank) && mote_within(p->kept_zero, -128, 127) &&
           mote_rescales(p->shift) && mote_holds(room, p->time, kept, 1) &&
           mote_holds(room, p->start, mote_count(p->units, 4, 1, 1), 4) &&
           mote_takes(room, 0, mote_count(p->batch, p->filters.depth, 1, 1), 1) &&
           mote_keeps(room, 1, mote_much_times(mote_size(p->batch), kept), 1) &&
           mote_gives(room, mote_count(p->batch, p->units, 1, 1), 1);
}

static inline int mote_svdf_state8_s8_fits(const mote_svdf_state8_s8_t *p, const mote_room_t *room) {
    return mote_svdf_state8_of_fits(p, room, mote_matrix_bytes_fit);
}

#endif
