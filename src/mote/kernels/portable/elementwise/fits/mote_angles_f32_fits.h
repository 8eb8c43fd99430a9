/* mote_angles_f32_fits.h: whether parameters of mote_angles_f32.h fit. */
#ifndef MOTE_ANGLES_F32_FITS_H
#define MOTE_ANGLES_F32_FITS_H

#include "mote_angles_f32.h"
#include "mote_unary_f32_fits.h"

MOTE_UNARY_F32_FITS(tan_f32)
MOTE_UNARY_F32_FITS(asin_f32)
MOTE_UNARY_F32_FITS(acos_f32)
MOTE_UNARY_F32_FITS(atan_f32)
MOTE_UNARY_F32_FITS(sinh_f32)
MOTE_UNARY_F32_FITS(cosh_f32)
MOTE_UNARY_F32_FITS(asinh_f32)
MOTE_UNARY_F32_FITS(acosh_f32)
MOTE_UNARY_F32_FITS(atanh_f32)
MOTE_UNARY_F32_FITS(log1p_f32)
MOTE_UNARY_F32_FITS(erf_f32)

#endif
