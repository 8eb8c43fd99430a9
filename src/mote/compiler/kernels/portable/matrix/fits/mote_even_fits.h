/* mote_even_fits.h: checks of the parameters of mote_even.h. */
#ifndef MOTE_EVEN_FITS_H
#define MOTE_EVEN_FITS_H

#include "mote_common_fits.h"
#include "mote_even.h"

/* Whether sums can be shifted so: mote_rescale_once and mote_rescale_even take different numbers. */
static inline int mote_even_shifts(int32_t shift) {
    return mote_within(shift, -31, 31) || mote_within(shift - MOTE_EVEN_SHIFT, 1, 62);
}

static inline int mote_evens_fit(const mote_channel_t *q, const mote_room_t *room, int32_t channels) {
    int fits = mote_array_fits(room, q, channels, sizeof *q / 4, 1, 1, 4);
    for (; fits && channels > 0; channels--, q++) {
        fits = mote_even_shifts(q->shift);
    }
    return fits;
}

#define MOTE_FINISH_EVEN_FITS(f, room, outputs) mote_evens_fit((f)->channel, room, outputs)

#endif
