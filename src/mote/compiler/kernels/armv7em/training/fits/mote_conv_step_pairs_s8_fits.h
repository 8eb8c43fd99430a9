/* mote_conv_step_pairs_s8_fits.h: the working memory of the kernel in mote_conv_step_pairs_s8.h. */
#ifndef MOTE_CONV_STEP_PAIRS_S8_FITS_H
#define MOTE_CONV_STEP_PAIRS_S8_FITS_H

#include "mote_conv_step_pairs_s8.h"
#include "mote_steps_s8_fits.h"

/* Of parameters that fit in all else. */
static inline int mote_conv_step_pairs_fit(const mote_conv_step_pairs_s8_t *p, const mote_room_t *room) {
    const int32_t rows = mote_gradient_span(&p->of.rows), cols = mote_gradient_span(&p->of.cols);
    const uint32_t vectors = mote_much_times(mote_bytes_of(rows, cols, 2), (uint32_t)p->block);
    const uint32_t sums = mote_count(p->of.rows.taps, p->of.cols.taps, p->block, 4);
    return mote_much_plus(vectors, sums) <= room->scratch && 4 * (uint32_t)mote_conv_step_room(p).words <= room->scratch;
}

#endif
