/* mote_standardize_f32_fits.h: checks of the parameters of mote_standardize_f32.h. */
#ifndef MOTE_STANDARDIZE_F32_FITS_H
#define MOTE_STANDARDIZE_F32_FITS_H

#include "mote_common_fits.h"
#include "mote_standardize_f32.h"

static inline int mote_standardize_f32_fits(const mote_standardize_f32_t *p, const mote_room_t *room) {
    const uint32_t each = mote_count(p->depth, 4, 1, 1);
    return p->depth > 0 && mote_vectors_fit(room, p->depth, p->depth, 4) &&
           (p->scale == NULL || mote_holds(room, p->scale, each, 4)) &&
           (p->bias == NULL || mote_holds(room, p->bias, each, 4));
}

static inline int mote_root_mean_square_f32_fits(const mote_root_mean_square_f32_t *p, const mote_room_t *room) {
    return mote_standardize_f32_fits(p, room);
}

#endif
