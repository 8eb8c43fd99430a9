/* mote_signal_samples_fits.h: whether parameters of mote_signal_samples.h fit. */
#ifndef MOTE_SIGNAL_SAMPLES_FITS_H
#define MOTE_SIGNAL_SAMPLES_FITS_H

#include "mote_elements_fits.h"
#include "mote_signal_samples.h"

static inline int mote_signal_window_fits(const mote_signal_window_t *p, const mote_room_t *room) {
    const uint32_t bytes = mote_count(room->hi, p->size, 2, 1);
    return mote_of_tensors(room) && mote_within(p->shift, 0, 31) &&
           mote_holds(room, p->window, mote_count(p->size, 2, 1, 1), 2) && mote_takes(room, 0, bytes, 2) &&
           mote_gives(room, bytes, 2);
}

static inline int mote_scale_bits_fits(const mote_scale_bits_t *p, const mote_room_t *room) {
    return mote_of_tensors(room) && mote_takes(room, 0, mote_bytes_of(p->size, 2, 1), 2) && mote_gives(room, 4, 4);
}

static inline int mote_scaled_fits(const mote_scaled_t *p, const mote_room_t *room) {
    const uint32_t bytes = mote_bytes_of(p->size, 2, 1);
    return mote_of_tensors(room) && mote_takes(room, 0, bytes, 2) && mote_takes(room, 1, 4, 4) &&
           mote_gives(room, bytes, 2);
}

static inline int mote_signal_energy_fits(const mote_signal_energy_t *p, const mote_room_t *room) {
    return mote_of_tensors(room) && mote_within(p->start, 0, p->end) && p->end <= p->bins &&
           mote_takes(room, 0, mote_bytes_of(p->end, 4, 1), 2) && mote_gives(room, mote_bytes_of(p->bins, 4, 1), 4);
}

#endif
