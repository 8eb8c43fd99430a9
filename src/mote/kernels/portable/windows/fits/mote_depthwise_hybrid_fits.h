/* mote_depthwise_hybrid_fits.h: checks of the parameters of mote_depthwise_hybrid.h. */
#ifndef MOTE_DEPTHWISE_HYBRID_FITS_H
#define MOTE_DEPTHWISE_HYBRID_FITS_H

#include "mote_depthwise_hybrid.h"
#include "mote_dot_hybrid_fits.h"

static inline int mote_depthwise_hybrid_fits(const mote_depthwise_hybrid_t *p, const mote_room_t *room) {
    return mote_count(p->in_channels, p->multiplier, 1, 1) == mote_size(p->channels) &&
           mote_array_fits(room, p->weights, p->rows.taps, p->cols.taps, p->channels, 1, 1) &&
           mote_outputs_hybrid(room, p->channels, p->scale, p->step, p->bias) &&
           mote_pixels_fit(&p->rows, &p->cols, room, p->in_channels, p->channels, 4);
}

#endif
