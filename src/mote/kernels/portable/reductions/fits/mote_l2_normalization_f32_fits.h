/* mote_l2_normalization_f32_fits.h: checks of the parameters of mote_l2_normalization_f32.h. */
#ifndef MOTE_L2_NORMALIZATION_F32_FITS_H
#define MOTE_L2_NORMALIZATION_F32_FITS_H

#include "mote_common_fits.h"
#include "mote_l2_normalization_f32.h"

static inline int mote_l2_normalization_f32_fits(const mote_l2_normalization_f32_t *p, const mote_room_t *room) {
    return mote_vectors_fit(room, p->depth, p->depth, 4);
}

#endif
