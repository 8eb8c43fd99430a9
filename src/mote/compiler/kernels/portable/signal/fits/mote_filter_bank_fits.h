/* mote_filter_bank_fits.h: whether parameters of mote_filter_bank.h fit. */
#ifndef MOTE_FILTER_BANK_FITS_H
#define MOTE_FILTER_BANK_FITS_H

#include "mote_elements_fits.h"
#include "mote_filter_bank.h"

/* Whether all bands lie among the energies and have weights. */
static inline int mote_bands_fit(const mote_filter_bank_t *p, const mote_room_t *room) {
    const uint32_t all = mote_much_plus(mote_count(p->channels, 1, 1, 1), 1);
    uint32_t energies = 0, weights = 0;
    if (!mote_holds(room, p->band, mote_much_times(all, sizeof *p->band), 4)) {
        return 0;
    }
    for (int32_t c = 0; c <= p->channels; c++) {
        const mote_band_t *const band = p->band + c;
        const uint32_t width = mote_size(band->width);
        const uint32_t end = mote_much_plus(mote_size(band->start), width);
        const uint32_t last = mote_much_plus(mote_size(band->first), width);
        energies = end > energies ? end : energies;
        weights = last > weights ? last : weights;
    }
    weights = mote_much_times(weights, 2);
    return mote_takes(room, 0, mote_much_times(energies, 4), 4) && mote_holds(room, p->weights, weights, 2) &&
           mote_holds(room, p->rests, weights, 2);
}

#endif
