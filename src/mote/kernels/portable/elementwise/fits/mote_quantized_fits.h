/* mote_quantized_fits.h: whether parameters of mote_quantized.h fit. */
#ifndef MOTE_QUANTIZED_FITS_H
#define MOTE_QUANTIZED_FITS_H

#include "mote_pairs_fits.h"
#include "mote_quantized.h"

static inline int mote_result_t_fit(const mote_result_t *p) { return mote_rescales(p->shift); }

static inline int mote_sum_s16_t_fit(const mote_sum_s16_t *p) {
    return mote_rescales(p->a.shift) && mote_rescales(p->b.shift) && mote_result_t_fit(&p->y);
}

static inline int mote_square_t_fit(const mote_square_t *p) {
    return mote_rescales(p->a.shift) && mote_rescales(p->b.shift) && mote_result_t_fit(&p->y);
}

static inline int mote_slope_s16_t_fit(const mote_slope_s16_t *p) {
    return mote_result_t_fit(&p->above) && mote_result_t_fit(&p->below);
}

static inline int mote_shifted_sum_t_fit(const mote_shifted_sum_t *p) {
    return mote_within(p->a_right, 0, 31) && mote_within(p->b_right, 0, 31);
}

#endif
