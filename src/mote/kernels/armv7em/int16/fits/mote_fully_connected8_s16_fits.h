/* mote_fully_connected8_s16_fits.h: checks of the parameters of mote_fully_connected8_s16.h. */
#ifndef MOTE_FULLY_CONNECTED8_S16_FITS_H
#define MOTE_FULLY_CONNECTED8_S16_FITS_H

#include "mote_fully_connected8_s16.h"
#include "mote_layer_fits.h"

/* Whether there are weights for all pairs of channels and of inputs. */
static inline int mote_fc8_s16_weights_fit(const mote_room_t *room, const int32_t *weights, int32_t depth,
                                           int32_t channels, int32_t wide) {
    return mote_counts(depth | channels) &&
           mote_array_fits(room, weights, (channels + 1) / 2, (depth + 1) / 2, wide ? 2 : 1, 1, 4);
}

#endif
