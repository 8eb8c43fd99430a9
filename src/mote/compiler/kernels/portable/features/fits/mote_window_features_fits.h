/* mote_window_features_fits.h: checks of windows of samples. */
#ifndef MOTE_WINDOW_FEATURES_FITS_H
#define MOTE_WINDOW_FEATURES_FITS_H

#include "mote_common_fits.h"

/* Whether windows of 1 to 2^14 samples have room, none of whose rows lies outside of the signal, and their features. */
static inline int mote_window_features_fit(const mote_window_t *rows, const mote_room_t *room, int32_t unit,
                                           int32_t channels, int32_t features) {
    const uint32_t samples = mote_bytes_of(rows->taps, unit, 1);
    const uint32_t in = mote_bytes_of(unit, channels, 2), out = mote_bytes_of(channels, features, 2);
    if (samples == 0 || samples > (uint32_t)1 << 14 || in == 0 || in == MOTE_MUCH || out == MOTE_MUCH ||
        !mote_window_fits(rows, room, in, out, 2)) {
        return 0;
    }
    if (room->form == MOTE_RUN_ROW) {
        return (room->outside & 1) == 0;
    }
    return rows->pad == 0 && mote_steps_short(rows->step | rows->spread) &&
           (int64_t)(rows->out_rows - 1) * rows->step + (int64_t)(rows->taps - 1) * rows->spread < rows->in_rows;
}

#endif
