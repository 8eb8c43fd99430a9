/* mote_lines_f32_fits.h: the checks of the kernels of mote_lines_f32.h. */
#ifndef MOTE_LINES_F32_FITS_H
#define MOTE_LINES_F32_FITS_H

#include "mote_arithmetic_f32_fits.h"
#include "mote_formula_f32_fits.h"
#include "mote_functions_f32_fits.h"
#include "mote_lines_f32.h"
#include "mote_lines_fits.h"
#include "mote_mean_f32_fits.h"
#include "mote_pairs_f32_fits.h"
#include "mote_reduce_fits.h"

#endif
