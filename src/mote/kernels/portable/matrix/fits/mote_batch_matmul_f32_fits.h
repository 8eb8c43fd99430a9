/* mote_batch_matmul_f32_fits.h: whether parameters of mote_batch_matmul_f32.h fit. */
#ifndef MOTE_BATCH_MATMUL_F32_FITS_H
#define MOTE_BATCH_MATMUL_F32_FITS_H

#include "mote_batch_matmul_f32.h"
#include "mote_batch_matmul_fits.h"

#endif
