/* mote_present_fits.h: which rows of windows lie inside of the image, for kernels that must not be without some. */
#ifndef MOTE_PRESENT_FITS_H
#define MOTE_PRESENT_FITS_H

#include "mote_common_fits.h"

/* The rows of windows that are not NULL, which are neighbours: the fewest and the most of a window, and the first and the
 * one behind the last of all. */
typedef struct {
    int32_t least, most, first, end;
} mote_present_t;

/* Output rows `y` to `end` - 1 read rows start + y * step + k * spread of `rows`. */
typedef struct {
    int32_t y, end, start, step, spread, rows;
} mote_reading_t;

static inline int mote_reading_of(const mote_window_t *w, const mote_room_t *room, mote_reading_t *r) {
    if (mote_of_tensors(room)) {
        const mote_reading_t whole = {0, w->out_rows, -w->pad, w->step, w->spread, w->in_rows};
        *r = whole;
    } else {
        const mote_reading_t given = {room->lo, room->hi, room->start, room->step, room->spread, room->rows};
        *r = given;
    }
    return room->list == NULL && mote_counts(r->y | r->end | r->rows) && r->y < r->end && r->spread > 0 &&
           mote_steps_short(r->step | r->spread | w->taps) && mote_within(r->start, -MOTE_LARGEST, MOTE_LARGEST) &&
           mote_bytes_of(r->end, r->step, 1) <= MOTE_LARGEST && w->taps * r->spread <= MOTE_LARGEST;
}

/* Whether several rows of outputs are computed from what windows of theirs would have: neighbouring rows, and those of
 * the next window `step` further on. */
static inline int mote_reads_neighbours(const mote_reading_t *r, int32_t step) {
    return r->spread == 1 && (r->step == step || r->end - r->y == 1);
}

/* Whether no row of any window is missing. */
MOTE_NOINLINE int mote_rows_inside(const mote_window_t *w, const mote_room_t *room) {
    mote_reading_t r;
    if (room->form == MOTE_RUN_ROW) {
        return !(room->outside & 1);
    }
    return mote_reading_of(w, room, &r) && (mote_of_tensors(room) || mote_reads_neighbours(&r, w->step)) &&
           r.start + r.y * r.step >= 0 && r.start + (r.end - 1) * r.step + (w->taps - 1) * r.spread < r.rows;
}

/* One window, of which tap k is row first + k * spread, or that of a list. */
static inline int mote_present_add(mote_present_t *p, const int32_t *list, int32_t first, int32_t spread, int32_t taps,
                                   int32_t rows) {
    int32_t begin = taps, end = 0, count = 0;
    for (int32_t k = 0; k < taps; k++, first += spread) {
        const int32_t row = list != NULL ? list[k] : first;
        if (row >= 0 && row < rows) {
            begin = k < begin ? k : begin;
            end = k + 1;
            count++;
        }
    }
    p->least = mote_min(p->least, count);
    p->most = count > p->most ? count : p->most;
    p->first = mote_min(p->first, begin);
    p->end = end > p->end ? end : p->end;
    return count == 0 || end - begin == count;
}

/* Of all windows; 0 where rows of one of them that are there are no neighbours. */
MOTE_NOINLINE int mote_present(const mote_window_t *w, const mote_room_t *room, mote_present_t *found) {
    const mote_present_t none = {w->taps, 0, w->taps, 0};
    mote_reading_t r;
    int neighbours = 1;
    *found = none;
    if (room->form == MOTE_RUN_ROW && room->list != NULL) {
        for (int32_t n = 0; neighbours && n < room->listed; n++) {
            neighbours = mote_present_add(found, room->list + n * room->taps[0], 0, 0, w->taps, room->rows);
        }
        return neighbours && w->taps <= room->taps[0];
    }
    if (!mote_reading_of(w, room, &r) || (room->form == MOTE_RUN_ROWS && !mote_reads_neighbours(&r, w->step))) {
        return 0;
    }
    for (int32_t y = r.y; y < r.end; y++) {
        (void)mote_present_add(found, NULL, r.start + y * r.step, r.spread, w->taps, r.rows);
    }
    return 1;
}

/* The row pointers of a window under as many rows of outputs as are computed at once. */
static inline int mote_several_fit(const mote_room_t *room, int32_t taps, int32_t step, uint32_t in, uint32_t out) {
    const int32_t most = mote_min(room->most, room->hi - room->lo);
    return mote_counts(most | step | taps | room->lo | room->hi) && most > 0 &&
           mote_much_plus(mote_bytes_of(most - 1, step, 1), (uint32_t)taps) <= mote_size(room->taps[0]) &&
           mote_takes(room, 0, in, 1) && mote_gives(room, out, 1);
}

/* Rows under windows, wherever they lie, from which words are loaded: `in` and `out` bytes of a row are touched. */
MOTE_NOINLINE int mote_planes_fit(const mote_room_t *room, const mote_window_t *w, uint32_t in, uint32_t out) {
    const uint32_t row = mote_of_tensors(room) ? (uint32_t)w->in_stride : room->in[0];
    return row % 4 == 0 && (room->form == MOTE_RUN_ROWS ? mote_several_fit(room, w->taps, w->step, in, out)
                                                        : mote_window_fits(w, room, in, out, 1));
}

#endif
