/* mote_conv2d_add_s8_fits.h: checks of the parameters of mote_conv2d_add_s8.h. */
#ifndef MOTE_CONV2D_ADD_S8_FITS_H
#define MOTE_CONV2D_ADD_S8_FITS_H

#include "mote_conv2d_add_s8.h"
#include "mote_running_sums_fits.h"

/* Whether an input row has room. A tap may be as long as several pixels: what counts is where the last one begins. */
static inline int mote_conv2d_add_takes(const mote_conv2d_add_s8_t *p, const mote_room_t *room) {
    const mote_span_t *s = &p->cols;
    const int32_t end = (s->out_size - 1) * s->step - s->pad + (s->taps - 1) * s->spread;
    const int32_t last = mote_min(end, s->in_size - 1);
    return last < 0 ||
           mote_takes(room, 0, mote_much_plus(mote_bytes_of(last, p->in_channels, 1), (uint32_t)p->depth), 1);
}

#endif
