/* mote_whole_pairs_fits.h: whether parameters of mote_whole_pairs.h fit. */
#ifndef MOTE_WHOLE_PAIRS_FITS_H
#define MOTE_WHOLE_PAIRS_FITS_H

#include "mote_pairs_fits.h"
#include "mote_whole_pairs.h"

#define MOTE_WHOLE_PAIRS_FITS(name, type, word, to, result) MOTE_PAIRS_FITS(name, mote_nothing_t, type, type, to, )

#endif
