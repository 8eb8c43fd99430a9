/* mote_depthwise_column_s8_fits.h: whether parameters of the kernels in mote_depthwise_column_s8.h fit. */
#ifndef MOTE_DEPTHWISE_COLUMN_S8_FITS_H
#define MOTE_DEPTHWISE_COLUMN_S8_FITS_H

#include "mote_blocks_fits.h"
#include "mote_depthwise_column_s8.h"
#include "mote_present_fits.h"

/* A record has `lanes` words for the weights of a row, and `constants` for each of four channels; which of them is a
 * shift, if any is. */
MOTE_NOINLINE int mote_depthwise_column_fits(const mote_depthwise_column_t *p, const mote_room_t *room, int32_t lanes,
                                             int32_t constants, int32_t shift) {
    const int32_t fours = (p->channels + 3) / 4, taps = p->rows.taps;
    if (!mote_counts(p->channels) || p->channels < 4 || !mote_within(taps, 2, MOTE_LONGEST) ||
        p->record != 4 + lanes * taps + 4 * constants ||
        !mote_holds_words(room, p->records, mote_bytes_of(fours, p->record, 1)) || !mote_rows_inside(&p->rows, room) ||
        !mote_window_fits(&p->rows, room, (uint32_t)p->channels, (uint32_t)p->channels, 1)) {
        return 0;
    }
    for (int32_t i = 0; shift > 0 && i < fours; i++) {
        if (!mote_shifts_fit(p->records + i * p->record + 4 + lanes * taps + shift, 4, constants)) {
            return 0;
        }
    }
    return 1;
}

#define MOTE_COLUMN_CONSTANTS_relu 2
#define MOTE_COLUMN_CONSTANTS_linear 3

#endif
