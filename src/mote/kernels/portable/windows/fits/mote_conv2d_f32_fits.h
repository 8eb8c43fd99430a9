/* mote_conv2d_f32_fits.h: checks of the parameters of mote_conv2d_f32.h. */
#ifndef MOTE_CONV2D_F32_FITS_H
#define MOTE_CONV2D_F32_FITS_H

#include "mote_common_fits.h"
#include "mote_conv2d_f32.h"

/* Whether there are all weights and biases. */
static inline int mote_conv2d_f32_holds(const mote_conv2d_f32_t *p, const mote_room_t *room) {
    return mote_array_fits(room, p->weights, p->out_channels, p->rows.taps, p->cols.taps, p->in_channels, 4) &&
           mote_array_fits(room, p->bias, p->out_channels, 1, 1, 1, 4);
}

static inline int mote_conv2d_f32_fits(const mote_conv2d_f32_t *p, const mote_room_t *room) {
    return mote_conv2d_f32_holds(p, room) &&
           mote_pixels_fit(&p->rows, &p->cols, room, p->in_channels, p->out_channels, 4);
}

#endif
