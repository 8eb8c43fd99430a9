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

static inline int mote_filter_bank_fits(const mote_filter_bank_t *p, const mote_room_t *room) {
    return mote_of_tensors(room) && mote_bands_fit(p, room) && mote_gives(room, mote_count(p->channels, 8, 1, 1), 8);
}

static inline int mote_square_root_fits(const mote_square_root_t *p, const mote_room_t *room) {
    return mote_of_tensors(room) && mote_takes(room, 0, mote_count(p->channels, 8, 1, 1), 8) &&
           mote_takes(room, 1, 4, 4) && mote_gives(room, mote_count(p->channels, 4, 1, 1), 4);
}

/* Numbers of 32 bits, as many as there are channels, from so many operands. */
static inline int mote_words_fit(int32_t channels, const mote_room_t *room, int32_t operands) {
    const uint32_t bytes = mote_count(channels, 4, 1, 1);
    return mote_of_tensors(room) && mote_takes(room, 0, bytes, 4) && (operands < 2 || mote_takes(room, 1, bytes, 4)) &&
           mote_gives(room, bytes, 4);
}

static inline int mote_noise_fits(const mote_noise_t *p, const mote_room_t *room) {
    return mote_words_fit(p->channels, room, 1) && mote_within(p->smoothing_bits, 0, 31) &&
           mote_within(p->bits, 0, 63);
}

static inline int mote_subtraction_fits(const mote_subtraction_t *p, const mote_room_t *room) {
    return mote_words_fit(p->channels, room, 2) && mote_within(p->smoothing_bits, 0, 31) &&
           mote_within(p->bits, 0, 63);
}

static inline int mote_channel_log_fits(const mote_channel_log_t *p, const mote_room_t *room) {
    return mote_of_tensors(room) && mote_within(p->bits, 0, 31) && mote_holds(room, p->table, 2 * 129, 2) &&
           mote_takes(room, 0, mote_count(p->channels, 4, 1, 1), 4) &&
           mote_gives(room, mote_count(p->channels, 2, 1, 1), 2);
}

/* Three numbers, an unused one, and three for each power of two up to the 32nd with one between them. */
static inline int mote_gain_fits(const mote_gain_t *p, const mote_room_t *room) {
    return mote_words_fit(p->channels, room, 2) && mote_within(p->shift, 0, 63) &&
           mote_holds(room, p->table, 2 * (4 * 32 - 3), 2);
}

#endif
