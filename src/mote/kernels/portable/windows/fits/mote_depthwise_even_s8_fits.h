/* mote_depthwise_even_s8_fits.h: checks of the parameters of mote_depthwise_even_s8.h. */
#ifndef MOTE_DEPTHWISE_EVEN_S8_FITS_H
#define MOTE_DEPTHWISE_EVEN_S8_FITS_H

#include "mote_depthwise_even_s8.h"
#include "mote_depthwise_s8_fits.h"
#include "mote_even_fits.h"

static inline int mote_depthwise_even_s8_fits(const mote_depthwise_even_s8_t *p, const mote_room_t *room) {
    return p->multiplier > 0 && mote_depthwise_s8_holds(p, room) &&
           mote_evens_fit(p->channel, room, p->channels) &&
           mote_pixels_fit(&p->rows, &p->cols, room, p->in_channels, p->channels, 1);
}

#endif
