/* mote_packed_lines_fits.h: the lines and pixels that resized parts of packed lines are made from. */
#ifndef MOTE_PACKED_LINES_FITS_H
#define MOTE_PACKED_LINES_FITS_H

#include "mote_resample_fits.h"
#include "mote_packed_lines.h"

/* What is behind the parameters of pixels. */
typedef struct {
    int32_t top, line, skip, unit, pairs, columns, depth, taps, kinds;
    const int16_t *first, *which, *count;
    const int32_t *weights;
} mote_packed_part_t;

static inline int mote_packed_part_fits(const mote_packed_part_t *p, const mote_room_t *room, int32_t unit) {
    const uint32_t out = mote_bytes_of(p->columns, p->depth, 1);
    uint32_t pixels;
    if (!mote_counts(p->top | p->line | p->skip | p->columns | p->taps | p->kinds | room->lo) || p->skip > p->line ||
        p->unit != unit || !mote_within(p->pairs, 0, 1) || (p->depth != 1 && p->depth != 3) ||
        !mote_array_fits(room, p->weights, p->kinds, p->taps, 1, 1, 4) ||
        !mote_array_fits(room, p->count, p->kinds, 1, 1, 1, 2) || !mote_counts_fit(p->count, p->kinds, p->taps)) {
        return 0;
    }
    pixels = (uint32_t)(p->line - p->skip) / (uint32_t)unit * (uint32_t)(1 + p->pairs);
    if (!mote_resampled_fit(room, p->first, p->which, p->count, p->kinds, p->columns, (int32_t)pixels) ||
        mote_much_times((uint32_t)p->taps + 2 * (uint32_t)p->pairs, (uint32_t)p->depth) > room->scratch) {
        return 0;
    }
    if (room->form == MOTE_RUN_ROW) {
        return room->taps[0] >= 1 && !(room->outside & 1) && mote_takes(room, 0, (uint32_t)p->line, 1) &&
               mote_gives(room, out, 1);
    }
    return mote_asks_rows(room) &&
           mote_takes(room, 0, mote_much_times((uint32_t)p->top + (uint32_t)room->hi, (uint32_t)p->line), 1) &&
           mote_gives(room, mote_much_times((uint32_t)room->hi, out), 1);
}

/* That of a kernel's parameters. */
#define MOTE_PACKED_PART(p) \
    (&(mote_packed_part_t){(p)->top, (p)->line, (p)->skip, (p)->unit, (p)->pairs, (p)->columns, (p)->depth, (p)->taps, \
                           (p)->kinds, (p)->first, (p)->which, (p)->count, (p)->weights})

#endif
