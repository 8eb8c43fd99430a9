/* mote_depthwise_taps_s8_fits.h: whether parameters of the kernels in mote_depthwise_taps_s8.h fit.
 *
 * Nearly every number is built into the code as well, and has to be the same.
 */
#ifndef MOTE_DEPTHWISE_TAPS_S8_FITS_H
#define MOTE_DEPTHWISE_TAPS_S8_FITS_H

#include "mote_depthwise_taps_s8.h"
#include "mote_lanes_fits.h"
#include "mote_present_fits.h"

typedef struct {
    int32_t channels, block, out_width, wide, columns, before, width, stride, planes, single, quads, filter, ahead, each;
    int32_t step, taps, height; /* rows from a window to the next, its rows, and those of a vector's columns */
    int32_t multiplier;         /* outputs of a channel */
    int32_t down, across;       /* rows and columns from one tap to the next */
    int32_t group;
} mote_taps_built_t;

static inline int mote_taps_numbers_fit(const mote_depthwise_taps_t *p, const mote_taps_built_t *b) {
    return p->channels == b->channels && p->block == b->block && p->out_width == b->out_width && p->wide == b->wide &&
           p->columns == b->columns && p->before == b->before && p->width == b->width && p->stride == b->stride &&
           p->planes == b->planes && p->single == b->single && p->quads == b->quads && p->filter == b->filter &&
           p->ahead == b->ahead && p->each == b->each && p->group == b->group && p->rows.step == b->step &&
           p->rows.taps == b->taps && p->rows.spread == b->down;
}

/* Where outputs go: rows of a group, and columns of those that are computed at once. */
static inline int mote_taps_places_fit(const mote_depthwise_taps_t *p) {
    int fits = 1;
    for (int32_t n = 0; fits && n < 4 * p->quads; n++) {
        fits = p->row[n] < p->group && mote_within(p->place[n], 0, (p->wide - 1) * p->channels) &&
               p->place[n] % p->channels == 0;
    }
    return fits;
}

/* The offsets of a gather's words are those of columns of `height` rows, four of which are in a plane. */
static inline int mote_taps_lanes_fit(const mote_depthwise_taps_t *p, const mote_taps_built_t *b) {
    const int32_t column = 4 * p->block, high = b->height / 4;
    int fits = 1;
    for (int32_t i = 0; fits && i < 4; i++) {
        fits = p->lane[i] == i / high * column * b->across + i % high * p->columns * column;
    }
    return fits;
}

/* Which constants are shifts, where results are rounded twice. */
static inline int mote_taps_shifts_fit(const mote_depthwise_taps_t *p) {
    int fits = 1;
    for (int32_t c = 0; fits && p->each == MOTE_LANES_COUNT_twice && c < p->channels; c++) {
        fits = mote_lane_shifts(p->constants[p->single ? c / 4 * 12 + 8 + c % 4 : 3 * c + 2]);
    }
    return fits;
}

/* Arrays in the image. */
static inline int mote_taps_arrays_fit(const mote_depthwise_taps_t *p, const mote_room_t *room,
                                       const mote_taps_built_t *b) {
    const uint32_t weights = mote_much_plus((uint32_t)p->ahead, mote_bytes_of(p->channels, p->filter, 1));
    const uint32_t outputs = 4 * (uint32_t)p->quads;
    return mote_holds(room, p->first, (uint32_t)p->planes, 1) && mote_holds(room, p->place, 2 * outputs, 2) &&
           mote_holds(room, p->row, outputs, 1) && mote_holds(room, p->weights, weights, 4) &&
           mote_holds(room, p->lane, 16, 4) && mote_lanes_hold(room, p->constants, p->channels, p->each) &&
           mote_taps_places_fit(p) && mote_taps_lanes_fit(p, b) && mote_taps_shifts_fit(p);
}

static inline uint32_t mote_taps_scratch(const mote_depthwise_taps_t *p) {
    const uint32_t block = (uint32_t)p->block, quads = (uint32_t)p->quads;
    const uint32_t sums = 4 * ((p->single ? block : quads * block + 16) + 4 * quads);
    const uint32_t planes = (uint32_t)(p->planes * p->columns) * 4 * block;
    return sums + planes + (uint32_t)((p->width > p->out_width ? p->width : p->out_width) * p->channels);
}

/* Rows of which pixels of `bytes` are loaded, by words where they have no other bytes. */
static inline int mote_taps_rows_fit(const mote_depthwise_taps_t *p, const mote_room_t *room, int32_t bytes, int words) {
    const uint32_t in = mote_bytes_of(p->width, bytes, 1), out = mote_bytes_of(p->out_width, p->channels, 1);
    const mote_window_t *const w = &p->rows;
    if (words) {
        const uint32_t row = mote_of_tensors(room) ? (uint32_t)w->out_stride : room->out;
        return mote_planes_fit(room, w, in, out) && row % 4 == 0;
    }
    return room->form == MOTE_RUN_ROWS ? mote_several_fit(room, w->taps, w->step, in, out)
                                       : mote_window_fits(w, room, in, out, 1);
}

MOTE_NOINLINE int mote_taps_fits(const mote_depthwise_taps_t *p, const mote_room_t *room, const mote_taps_built_t *b) {
    const int32_t bytes = p->channels / b->multiplier;
    if (!mote_taps_numbers_fit(p, b) || !mote_taps_arrays_fit(p, room, b) || room->scratch < mote_taps_scratch(p) ||
        !mote_taps_rows_fit(p, room, bytes, b->multiplier == 1 && bytes % 4 == 0)) {
        return 0;
    }
    return room->form == MOTE_RUN_ROWS ? room->most <= b->group
                                       : !mote_of_tensors(room) || room->hi <= p->rows.out_rows;
}

#define MOTE_TAPS_FITS(id, columns, code, reads, planed, group, ...) \
    MOTE_UNUSED static inline int mote_##id##_fits(const mote_depthwise_taps_t *p, const mote_room_t *room) { \
        static const mote_taps_built_t built = {__VA_ARGS__, group}; \
        return mote_taps_fits(p, room, &built); \
    }

#define MOTE_TAPS_WHOLE_FITS(id, columns, code, reads, planed, group, ...) \
    MOTE_UNUSED static inline int mote_##id##_fits(const mote_depthwise_taps_t *p, const mote_room_t *room) { \
        static const mote_taps_built_t built = {__VA_ARGS__, group}; \
        mote_room_t all = *room; \
        all.lo = 0; \
        all.hi = p->rows.out_rows; \
        return room->form == MOTE_RUN_WHOLE && mote_taps_fits(p, &all, &built); \
    }

#endif
