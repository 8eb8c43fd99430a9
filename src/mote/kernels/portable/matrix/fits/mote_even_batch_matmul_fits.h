/* mote_even_batch_matmul_fits.h: checks of the parameters of mote_even_batch_matmul.h. */
#ifndef MOTE_EVEN_BATCH_MATMUL_FITS_H
#define MOTE_EVEN_BATCH_MATMUL_FITS_H

#include "mote_batch_matmul_fits.h"
#include "mote_even_batch_matmul.h"
#include "mote_even_fits.h"

static inline int mote_matmul_even_t_finishes(const mote_matmul_even_t *p) {
    return mote_even_shifts(p->shift);
}

#endif
