/* mote_spectral_features_fits.h: whether parameters of mote_spectral_features.h fit. */
#ifndef MOTE_SPECTRAL_FEATURES_FITS_H
#define MOTE_SPECTRAL_FEATURES_FITS_H

#include "mote_common_fits.h"
#include "mote_real_fft_fits.h"
#include "mote_spectral_features.h"

/* Whether all rows of samples are there, and one of features of a size for each frame. */
static inline int mote_frames_fit(const mote_window_t *w, const mote_room_t *room, uint32_t in, uint32_t columns,
                                  uint32_t size) {
    const uint32_t out = mote_much_times(columns, size);
    if (room->form == MOTE_RUN_ROW) {
        return mote_within(w->taps, 1, room->taps[0]) && (room->outside & 1) == 0 && mote_takes(room, 0, in, 2) &&
               mote_gives(room, out, size);
    }
    return mote_asks_rows(room) && mote_counts(w->in_rows | w->out_rows | w->in_stride | w->out_stride) &&
           mote_steps_short(w->step) && w->out_rows > 0 && w->pad == 0 && w->spread == 1 &&
           mote_within(w->taps, 1, MOTE_MAX_TAPS) && room->hi <= w->out_rows &&
           mote_much_plus(mote_bytes_of(w->out_rows - 1, w->step, 1), (uint32_t)w->taps) <= (uint32_t)w->in_rows &&
           in <= (uint32_t)w->in_stride * 2 && columns <= (uint32_t)w->out_stride &&
           mote_takes(room, 0, mote_bytes_of(w->in_rows, w->in_stride, 2), 2) &&
           mote_gives(room, mote_rows_bytes(room->hi, (uint32_t)w->out_stride * size, out), size);
}

/* Whether bins of the filter bank lie in the spectrum and have weights. */
static inline int mote_spectrum_bands_fit(const mote_spectrum_t *p, const mote_room_t *room) {
    int32_t bins = 0;
    if (!mote_counts(p->filters | p->first) || !mote_holds(room, p->counts, 2 * ((uint32_t)p->filters + 1), 2)) {
        return 0;
    }
    for (int32_t i = 0; i <= p->filters && bins < MOTE_LARGEST; i++) {
        bins += mote_flash_u16(p->counts + i);
    }
    return p->first + bins <= p->top + 1 && (bins == 0 || mote_holds(room, p->rising, 2 * (uint32_t)bins, 2));
}

/* Whether a spectrum can be computed in the working memory, with so many numbers behind it. */
static inline int mote_spectrum_fits(const mote_spectrum_t *p, const mote_room_t *room, uint32_t more, uint32_t size) {
    const int32_t folded = p->fft.length != p->fft.points;
    const uint32_t frame = mote_count(p->rows.taps, p->unit, 1, 1);
    if (!mote_real_fft_fits(&p->fft, room) || frame > (uint32_t)p->fft.length ||
        (p->window != NULL && !mote_holds(room, p->window, 2 * frame, 2)) ||
        (!p->power && !mote_holds(room, p->root, 2 * 97, 2))) {
        return 0;
    }
    if (p->filters == 0) {
        return p->top == p->fft.length / 2 && 4 * ((uint32_t)p->fft.points + (uint32_t)folded + more) <= room->scratch &&
               mote_frames_fit(&p->rows, room, 2 * (uint32_t)p->unit, (uint32_t)p->top + 1, size);
    }
    return mote_within(p->top, 0, folded ? p->fft.points - 1 : p->fft.length / 2) && mote_spectrum_bands_fit(p, room) &&
           4 * ((uint32_t)p->fft.points + more) <= room->scratch;
}

/* Whether logarithms of bands, and their cepstrum, fit. */
static inline int mote_spectral_logs_fit(const mote_spectral_logs_t *p, const mote_room_t *room) {
    const int32_t filters = p->spectrum.filters, cepstrum = p->coefficients > 0;
    const int32_t most = p->spectrum.fft.points;
    const uint32_t more = cepstrum && p->logs_at != 0 ? mote_size(filters) : 0;
    if (!mote_counts(filters | p->coefficients) || (cepstrum && filters == 0) ||
        (p->logs_at != most && (p->logs_at != 0 || filters > most)) || !mote_spectrum_fits(&p->spectrum, room, more, 2)) {
        return 0;
    }
    if (cepstrum && !mote_array_fits(room, p->cosines, p->coefficients, filters, 1, 1, 2)) {
        return 0;
    }
    return filters == 0 || mote_frames_fit(&p->spectrum.rows, room, 2 * (uint32_t)p->spectrum.unit,
                                           (uint32_t)(cepstrum ? p->coefficients : filters), 2);
}

static inline int mote_spectral_energies_fit(const mote_spectral_energies_t *p, const mote_room_t *room) {
    const int32_t filters = p->spectrum.filters;
    return mote_counts(filters) && mote_spectrum_fits(&p->spectrum, room, 0, 4) &&
           (filters == 0 || mote_frames_fit(&p->spectrum.rows, room, 2 * (uint32_t)p->spectrum.unit, (uint32_t)filters, 4));
}

#endif
