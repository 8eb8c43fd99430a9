/* mote_affine_fits.h: checks of the parameters of mote_affine.h. */
#ifndef MOTE_AFFINE_FITS_H
#define MOTE_AFFINE_FITS_H

#include "mote_affine.h"
#include "mote_layer_fits.h"

static inline int mote_affines_fit(const mote_finish_affine_t *f, const mote_room_t *room, int32_t channels) {
    const mote_affine_t *q = f->channel;
    int fits = mote_array_fits(room, q, channels, sizeof *q / 4, 1, 1, 4) && mote_within(f->origin, -32768, 32767);
    for (; fits && channels > 0; channels--, q++) {
        fits = q->mult >= 0 && mote_within(q->shift, 1, 62);
    }
    return fits;
}

#define MOTE_FINISH_AFFINE8_FITS(f, room, outputs) mote_affines_fit(f, room, outputs)
#define MOTE_FINISH_AFFINE16_FITS(f, room, outputs) mote_affines_fit(f, room, outputs)

#endif
