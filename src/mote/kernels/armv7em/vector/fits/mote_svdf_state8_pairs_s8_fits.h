/* mote_svdf_state8_pairs_s8_fits.h: whether parameters of mote_svdf_state8_pairs_s8.h fit. */
#ifndef MOTE_SVDF_STATE8_PAIRS_S8_FITS_H
#define MOTE_SVDF_STATE8_PAIRS_S8_FITS_H

#include "mote_svdf_state8_pairs_s8.h"
#include "mote_svdf_state8_s8_fits.h"

static inline int mote_svdf_state8_pairs_s8_fits(const mote_svdf_state8_pairs_s8_t *p, const mote_room_t *room) {
    return mote_svdf_state8_of_fits(p, room, mote_matrix_pairs_fit) &&
           mote_widened(p->filters.depth) <= room->scratch;
}

#endif
