/* mote_conv_input_gradient_terms_s8_fits.h: the working memory of the kernel in mote_conv_input_gradient_terms_s8.h. */
#ifndef MOTE_CONV_INPUT_GRADIENT_TERMS_S8_FITS_H
#define MOTE_CONV_INPUT_GRADIENT_TERMS_S8_FITS_H

#include "mote_conv_input_gradient_terms_s8.h"
#include "mote_input_gradients_s8_fits.h"

/* Of parameters that fit in all else. */
static inline int mote_input_gradient_terms_fit(const mote_conv_input_gradient_s8_t *p, const mote_room_t *room) {
    const uint32_t sums = mote_count(mote_input_terms_rows(&p->of), p->of.cols.in, p->of.channels, 4);
    return p->of.channels % 4 == 0 && mote_much_plus(sums, mote_bytes_of(p->of.outputs, 8, 1)) <= room->scratch;
}

#endif
