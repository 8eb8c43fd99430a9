/* mote_mean_even_s8_fits.h: checks of the parameters of mote_mean_even_s8.h. */
#ifndef MOTE_MEAN_EVEN_S8_FITS_H
#define MOTE_MEAN_EVEN_S8_FITS_H

#include "mote_even_fits.h"
#include "mote_loop_fits.h"
#include "mote_mean_even_s8.h"

static inline int mote_mean_even_s8_fits(const mote_mean_even_s8_t *p, const mote_room_t *room) {
    return mote_loops_fit(room, p->kept, p->averaged, p->inner, 1) && mote_even_shifts(p->channel.shift);
}

#endif
