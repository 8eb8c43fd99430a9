/* mote_formula_f32_fits.h: whether parameters of mote_formula_f32.h fit. */
#ifndef MOTE_FORMULA_F32_FITS_H
#define MOTE_FORMULA_F32_FITS_H

#include "mote_formula_f32.h"
#include "mote_unary_f32_fits.h"

#define MOTE_FORMULA_F32_FITS(name, steps, result) MOTE_UNARY_F32_FITS(name)

#endif
