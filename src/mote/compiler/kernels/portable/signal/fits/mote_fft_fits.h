/* mote_fft_fits.h: whether parameters of mote_fft.h fit. */
#ifndef MOTE_FFT_FITS_H
#define MOTE_FFT_FITS_H

#include "mote_elements_fits.h"
#include "mote_fft.h"

/* Whether stages make a transform of a length, and roots of one are there for it. */
static inline int mote_fft_stages_fit(const mote_room_t *room, const int32_t *radix, int32_t stages, int32_t length,
                                      const void *roots, uint32_t size) {
    int32_t left = length;
    if (!mote_within(stages, 0, MOTE_FFT_STAGES) || (stages > 0 && !mote_holds(room, radix, 4 * (uint32_t)stages, 4))) {
        return 0;
    }
    for (int32_t i = 0; i < stages; i++) {
        if (!mote_within(radix[i], 2, 5) || left % radix[i] != 0) {
            return 0;
        }
        left /= radix[i];
    }
    return left == 1 && mote_holds(room, roots, mote_count(length, 2, (int32_t)size, 1), size);
}

/* What unfolds a spectrum: there is nothing for a single sample. */
static inline int mote_fft_last_fits(const mote_room_t *room, int32_t half, const void *last, uint32_t size) {
    return half < 2 || mote_holds(room, last, mote_count(half / 2, 2, (int32_t)size, 1), size);
}

#endif
