/* mote_window_spectrum_fits.h: checks of spectra of windows of samples. */
#ifndef MOTE_WINDOW_SPECTRUM_FITS_H
#define MOTE_WINDOW_SPECTRUM_FITS_H

#include "mote_real_fft_fits.h"
#include "mote_window_features_fits.h"
#include "mote_window_spectrum.h"

/* Whether a window has a transform of its length, and bands are made of bins that this gives. */
static inline int mote_window_bands_fit(const mote_window_spectrum_t *p, const mote_room_t *room) {
    const uint32_t bins = (uint32_t)p->fft.length / 2 + 1, kept = mote_size(p->fft.points > (int32_t)bins ? p->fft.points
                                                                                                         : (int32_t)bins);
    if (!mote_real_fft_fits(&p->fft, room) || mote_bytes_of(p->rows.taps, p->unit, 1) != (uint32_t)p->fft.length ||
        p->fft.length < 2 || mote_much_times(kept, sizeof(mote_bin_t)) > room->scratch ||
        !mote_within(p->bands, 0, UINT16_MAX) || !mote_within(p->dominant, 0, 1) ||
        (p->window != NULL && !mote_holds(room, p->window, 2 * (uint32_t)p->fft.length, 2)) ||
        (p->bands > 0 && !mote_holds(room, p->edges, 2 * ((uint32_t)p->bands + 1), 2))) {
        return 0;
    }
    for (int32_t i = 0; p->bands > 0 && i <= p->bands; i++) {
        if (mote_flash_u16(p->edges + i) > bins) {
            return 0;
        }
    }
    return 1;
}

#endif
