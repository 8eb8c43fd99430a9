/* mote_functions_f32_fits.h: whether parameters of mote_functions_f32.h fit. */
#ifndef MOTE_FUNCTIONS_F32_FITS_H
#define MOTE_FUNCTIONS_F32_FITS_H

#include "mote_functions_f32.h"
#include "mote_unary_f32_fits.h"

MOTE_UNARY_F32_FITS(abs_f32)
MOTE_UNARY_F32_FITS(neg_f32)
MOTE_UNARY_F32_FITS(square_f32)
MOTE_UNARY_F32_FITS(sign_f32)
MOTE_UNARY_F32_FITS(exp_f32)
MOTE_UNARY_F32_FITS(log_f32)
MOTE_UNARY_F32_FITS(sqrt_f32)
MOTE_UNARY_F32_FITS(rsqrt_f32)
MOTE_UNARY_F32_FITS(sin_f32)
MOTE_UNARY_F32_FITS(cos_f32)
MOTE_UNARY_F32_FITS(ceil_f32)
MOTE_UNARY_F32_FITS(floor_f32)
MOTE_UNARY_F32_FITS(round_f32)
MOTE_UNARY_F32_FITS(elu_f32)
MOTE_UNARY_F32_FITS(gelu_f32)
MOTE_UNARY_F32_FITS(gelu_tanh_f32)

#endif
