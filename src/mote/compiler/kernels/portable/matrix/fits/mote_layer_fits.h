/* mote_layer_fits.h: checks of the parameters of mote_layer.h. */
#ifndef MOTE_LAYER_FITS_H
#define MOTE_LAYER_FITS_H

#include "mote_common_fits.h"
#include "mote_layer.h"

/* Whether outputs have scales with shifts from 1 to `most`. */
static inline int mote_wides_fit(const mote_wide_t *scale, const mote_room_t *room, int32_t outputs, int32_t most) {
    int fits = mote_array_fits(room, scale, outputs, sizeof *scale / 4, 1, 1, 4);
    for (; fits && outputs > 0; outputs--, scale++) {
        fits = mote_within(scale->shift, 1, most);
    }
    return fits;
}

static inline int mote_exacts_fit(const mote_exact_t *scale, const mote_room_t *room, int32_t outputs) {
    int fits = mote_array_fits(room, scale, outputs, sizeof *scale / 4, 1, 1, 4);
    for (; fits && outputs > 0; outputs--, scale++) {
        fits = mote_within(scale->shift, 1, 63);
    }
    return fits;
}

/* Bytes of the weights, which are a constant that is known by its first row where vectors come one by one. */
static inline uint32_t mote_projection_weights(const mote_room_t *room) {
    return room->form == MOTE_RUN_EACH ? mote_much_times(room->in[1], mote_size(room->taps[1])) : room->in[1];
}

/* Whether there is what a layer's sums begin with and are finished with, for each way in which that is done. */
#define MOTE_BIAS_FITS(f, room, outputs) mote_array_fits(room, (f)->bias, outputs, 1, 1, 1, sizeof *(f)->bias)
#define MOTE_FINISH_WIDE_FITS(f, room, outputs) \
    (MOTE_BIAS_FITS(f, room, outputs) && mote_wides_fit((f)->scale, room, outputs, 63))
#define MOTE_FINISH_HIGH_FITS(f, room, outputs) \
    (MOTE_BIAS_FITS(f, room, outputs) && mote_wides_fit((f)->scale, room, outputs, 31))
#define MOTE_FINISH_EXACT_FITS(f, room, outputs) \
    (MOTE_BIAS_FITS(f, room, outputs) && mote_exacts_fit((f)->scale, room, outputs))
#define MOTE_FINISH_EXACT8_FITS(f, room, outputs) MOTE_FINISH_EXACT_FITS(f, room, outputs)
#define MOTE_FINISH_NARROW_FITS(f, room, outputs) mote_channels_fit((f)->channel, room, outputs, -32)
#define MOTE_FINISH_S8_FITS(f, room, outputs) \
    mote_channels_fit((f)->channel, room, outputs, mote_least_shift(&(f)->output))
#define MOTE_FINISH_F32_FITS(f, room, outputs) MOTE_BIAS_FITS(f, room, outputs)
#define MOTE_FINISH_HYBRID_FITS(f, room, outputs) \
    (MOTE_BIAS_FITS(f, room, outputs) && mote_within((f)->step, 0, 1) && \
     mote_array_fits(room, (f)->scale, (f)->step ? (outputs) : 1, 1, 1, 1, 4))

#endif
