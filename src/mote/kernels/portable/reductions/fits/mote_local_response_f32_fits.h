/* mote_local_response_f32_fits.h: checks of the parameters of mote_local_response_f32.h. */
#ifndef MOTE_LOCAL_RESPONSE_F32_FITS_H
#define MOTE_LOCAL_RESPONSE_F32_FITS_H

#include "mote_common_fits.h"
#include "mote_local_response_f32.h"

static inline int mote_local_response_f32_fits(const mote_local_response_f32_t *p, const mote_room_t *room) {
    return mote_counts(p->radius) && mote_vectors_fit(room, p->depth, p->depth, 4);
}

#endif
