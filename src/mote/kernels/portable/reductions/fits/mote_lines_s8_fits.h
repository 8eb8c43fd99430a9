/* mote_lines_s8_fits.h: the checks of the kernels of mote_lines_s8.h. */
#ifndef MOTE_LINES_S8_FITS_H
#define MOTE_LINES_S8_FITS_H

#include "mote_add_exact_s8_fits.h"
#include "mote_add_s8_fits.h"
#include "mote_divide_fits.h"
#include "mote_lines_fits.h"
#include "mote_lines_s8.h"
#include "mote_lut_s8_fits.h"
#include "mote_mean_lines_s8_fits.h"
#include "mote_mul_s8_fits.h"
#include "mote_quantized_fits.h"

#endif
