/* mote_learned_conv2d_s8_fits.h: checks of the parameters of mote_learned_conv2d_s8.h. */
#ifndef MOTE_LEARNED_CONV2D_S8_FITS_H
#define MOTE_LEARNED_CONV2D_S8_FITS_H

#include "mote_conv2d_s8_fits.h"
#include "mote_layer_fits.h"
#include "mote_learned_conv2d_s8.h"
#include "mote_learned_fits.h"

/* Whether there is a width for every bias. */
static inline int mote_learned_bits_fit(const uint8_t *bits, const mote_room_t *room, int32_t channels) {
    int fits = mote_holds(room, bits, mote_size(channels), 1);
    for (; fits && channels > 0; channels--, bits++) {
        fits = *bits <= 30;
    }
    return fits;
}

/* Whether sums can be scaled so: rounded twice, or once. */
static inline int mote_learned_scales_fit(const mote_learned_layer_t *p, const mote_room_t *room) {
    return p->exact != NULL ? mote_exacts_fit(p->exact, room, p->channels)
                            : mote_channels_fit(p->channel, room, p->channels, mote_least_shift(&p->output));
}

/* Bytes of so many output pixels: the last one ends with its last channel. */
static inline uint32_t mote_learned_pixels_bytes(const mote_learned_layer_t *p, int32_t pixels) {
    return pixels > 0 ? mote_much_plus(mote_bytes_of(pixels - 1, p->pixel, 1), mote_size(p->channels)) : 0;
}

#endif
