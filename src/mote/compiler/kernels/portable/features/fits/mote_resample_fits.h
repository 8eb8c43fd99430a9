/* mote_resample_fits.h: the pixels that resized axes are made from. */
#ifndef MOTE_RESAMPLE_FITS_H
#define MOTE_RESAMPLE_FITS_H

#include "mote_common_fits.h"
#include "mote_resample.h"

/* Whether all weights are there that `size` outputs have, and their first inputs; with counts, all of their inputs. */
static inline int mote_resampled_fit(const mote_room_t *room, const int16_t *first, const int16_t *which,
                                     const int16_t *count, int32_t kinds, int32_t size, int32_t in_size) {
    int fits = mote_array_fits(room, first, size, 1, 1, 1, 2) && mote_array_fits(room, which, size, 1, 1, 1, 2) &&
               mote_counts(in_size);
    for (int32_t i = 0; fits && i < size; i++) {
        fits = first[i] >= 0 && mote_within(which[i], 0, kinds - 1);
        fits = fits && (int32_t)first[i] + (count == NULL ? 1 : count[which[i]]) <= in_size;
    }
    return fits;
}

/* Whether outputs have one weight at least, and no more than there are. */
static inline int mote_counts_fit(const int16_t *count, int32_t kinds, int32_t taps) {
    int fits = 1;
    for (int32_t i = 0; fits && i < kinds; i++) {
        fits = mote_within(count[i], 1, taps);
    }
    return fits;
}

static inline int mote_resampled_rows_fit(const mote_resize_rows_t *p, const mote_room_t *room) {
    const uint32_t line = mote_bytes_of(p->stride, 1, 1);
    if (!mote_counts(p->stride | room->lo | room->hi) || room->hi > p->rows) {
        return 0;
    }
    if (room->form == MOTE_RUN_ROW) {
        return p->taps <= room->taps[0] && mote_takes(room, 0, line, 1) && mote_gives(room, line, 1);
    }
    return mote_asks_rows(room) && p->taps <= MOTE_MAX_TAPS &&
           mote_takes(room, 0, mote_much_times((uint32_t)p->in_rows, line), 1) &&
           mote_gives(room, mote_much_times((uint32_t)room->hi, line), 1);
}

#endif
