/* mote_input_gradients_s8_fits.h: checks of the parameters of mote_input_gradients_s8.h. */
#ifndef MOTE_INPUT_GRADIENTS_S8_FITS_H
#define MOTE_INPUT_GRADIENTS_S8_FITS_H

#include "mote_common_fits.h"
#include "mote_input_gradients_s8.h"

static inline int mote_multipliers_fit(const mote_multiplier_t *scale, const mote_room_t *room, int32_t count) {
    if (!mote_holds(room, scale, mote_count(count, (int32_t)sizeof *scale, 1, 1), sizeof(int32_t))) {
        return 0;
    }
    for (int32_t i = 0; i < count; i++) {
        if (!mote_within(scale[i].shift, -32, 31)) {
            return 0;
        }
    }
    return 1;
}

#endif
