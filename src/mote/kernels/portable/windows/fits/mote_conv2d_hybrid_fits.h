/* mote_conv2d_hybrid_fits.h: checks of the parameters of mote_conv2d_hybrid.h. */
#ifndef MOTE_CONV2D_HYBRID_FITS_H
#define MOTE_CONV2D_HYBRID_FITS_H

#include "mote_conv2d_hybrid.h"
#include "mote_dot_hybrid_fits.h"

static inline int mote_conv2d_hybrid_fits(const mote_conv2d_hybrid_t *p, const mote_room_t *room) {
    return mote_array_fits(room, p->weights, p->out_channels, p->rows.taps, p->cols.taps, p->in_channels, 1) &&
           mote_outputs_hybrid(room, p->out_channels, p->scale, p->step, p->bias) &&
           mote_pixels_fit(&p->rows, &p->cols, room, p->in_channels, p->out_channels, 4);
}

#endif
