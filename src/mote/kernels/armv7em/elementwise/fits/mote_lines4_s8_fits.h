/* mote_lines4_s8_fits.h: the checks of the kernels of mote_lines4_s8.h. */
#ifndef MOTE_LINES4_S8_FITS_H
#define MOTE_LINES4_S8_FITS_H

#include "mote_add4_s8_fits.h"
#include "mote_lines4_s8.h"
#include "mote_lines_s8_fits.h"
#include "mote_mul4_s8_fits.h"

#endif
