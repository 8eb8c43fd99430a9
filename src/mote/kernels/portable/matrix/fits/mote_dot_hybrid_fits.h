/* mote_dot_hybrid_fits.h: checks of what float32 layers with int8 weights share. */
#ifndef MOTE_DOT_HYBRID_FITS_H
#define MOTE_DOT_HYBRID_FITS_H

#include "mote_common_fits.h"

/* Whether outputs have their biases, and scales that are `step` apart. */
static inline int mote_outputs_hybrid(const mote_room_t *room, int32_t outputs, const float *scale, int32_t step,
                                      const float *bias) {
    return mote_within(step, 0, 1) && mote_array_fits(room, bias, outputs, 1, 1, 1, 4) &&
           mote_array_fits(room, scale, step ? outputs : 1, 1, 1, 1, 4);
}

#endif
