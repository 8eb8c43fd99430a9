/* mote_conv_input_gradient_pairs_s8_fits.h: the working memory of the kernel in mote_conv_input_gradient_pairs_s8.h. */
#ifndef MOTE_CONV_INPUT_GRADIENT_PAIRS_S8_FITS_H
#define MOTE_CONV_INPUT_GRADIENT_PAIRS_S8_FITS_H

#include "mote_conv_input_gradient_pairs_s8.h"
#include "mote_input_gradients_s8_fits.h"

/* Of parameters that fit in all else. */
static inline int mote_input_gradient_pairs_fit(const mote_conv_input_gradient_pairs_s8_t *p, const mote_room_t *room) {
    const mote_input_gradient_t *const of = &p->layer.of;
    const int32_t rows = (of->rows.taps - 1) * of->rows.spread + 1;
    const uint32_t vectors = mote_count(of->rows.taps, of->cols.taps, of->outputs, MOTE_PAIR_BYTES);
    const uint32_t sums = mote_bytes_of(rows, of->cols.in, 32), planes = (uint32_t)p->block / 8;
    return mote_much_times(mote_much_plus(vectors, sums), planes) <= room->scratch &&
           4 * (uint32_t)mote_input_gradient_room(of, p->block).words <= room->scratch;
}

#endif
