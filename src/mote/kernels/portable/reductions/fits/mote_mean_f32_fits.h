/* mote_mean_f32_fits.h: whether parameters of mote_mean_f32.h fit. */
#ifndef MOTE_MEAN_F32_FITS_H
#define MOTE_MEAN_F32_FITS_H

#include "mote_loop_fits.h"
#include "mote_mean_f32.h"

static inline int mote_mean_f32_fits(const mote_mean_f32_t *p, const mote_room_t *room) {
    return mote_loops_fit(room, p->kept, p->averaged, p->inner, sizeof(float));
}

#endif
