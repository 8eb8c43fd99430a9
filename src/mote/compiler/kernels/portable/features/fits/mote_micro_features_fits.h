/* mote_micro_features_fits.h: whether parameters of mote_micro_features.h fit. */
#ifndef MOTE_MICRO_FEATURES_FITS_H
#define MOTE_MICRO_FEATURES_FITS_H

#include "mote_micro_features.h"
#include "mote_present_fits.h"

/* Whether each pair of an FFT has a place in it. */
static inline int mote_micro_places_fit(const mote_micro_spectrum_t *p, const mote_room_t *room) {
    int fits = mote_array_fits(room, p->place, p->half, 1, 1, 1, 2);
    for (int32_t i = 0; fits && i < p->half; i++) {
        fits = mote_within(p->place[i], 0, p->half - 1);
    }
    return fits;
}

/* Whether channels lie in the spectrum, one behind another, and their bins have weights. */
static inline int mote_micro_bank_fits(const mote_micro_spectrum_t *p, const mote_room_t *room) {
    int32_t before = 0;
    if (!mote_counts(p->channels) || !mote_array_fits(room, p->edges, p->channels + 2, 1, 1, 1, 2)) {
        return 0;
    }
    for (int32_t c = 0; c < p->channels + 2; c++) {
        if (!mote_within(p->edges[c], before, p->half)) {
            return 0;
        }
        before = p->edges[c];
    }
    return before == p->edges[0] || mote_array_fits(room, p->weights, before - p->edges[0], 1, 1, 1, 4);
}

/* Whether a table has square roots, by none of which zero would be divided. */
static inline int mote_micro_roots_fit(const uint8_t *root, const mote_room_t *room) {
    int fits = mote_array_fits(room, root, 256, 1, 1, 1, 1);
    for (int32_t i = 0; fits && i < 256; i++) {
        const int32_t n = (i < 64 ? 64 : i) * 256, r = root[i];
        fits = r * r <= n && (r + 1) * (r + 1) > n;
    }
    return fits;
}

/* The twiddle factors of all stages but the first. */
static inline uint32_t mote_micro_turns(int32_t half) {
    uint32_t turns = 0;
    for (int32_t m = (half & 0x5555) == 0 ? 2 : 4; m < half; m *= 4) {
        turns += 3 * ((uint32_t)m - 1);
    }
    return turns;
}

static inline int mote_micro_rows_fit(const mote_micro_spectrum_t *p, const mote_room_t *room) {
    const uint32_t out = mote_bytes_of(p->channels, 4, 1);
    return mote_counts(p->pairs | p->channels) && mote_within(p->rows.taps, 1, p->half) &&
           mote_within(p->pairs, 1, p->half) && p->rows.taps * p->pairs <= p->half &&
           mote_window_fits(&p->rows, room, mote_bytes_of(p->pairs, 4, 1), out / 2, 2) && mote_rows_inside(&p->rows, room) &&
           mote_gives(room, room->form == MOTE_RUN_ROW ? out : mote_rows_bytes(room->hi, 4 * (uint32_t)p->rows.out_stride, out), 4);
}

#endif
