/* mote_select_fits.h: whether parameters of mote_select.h fit. */
#ifndef MOTE_SELECT_FITS_H
#define MOTE_SELECT_FITS_H

#include "mote_common_fits.h"
#include "mote_select.h"

/* Where the last run begins, in elements of the condition and of both others. */
typedef struct {
    uint32_t c, x, y;
} mote_selected_t;

/* Whether the axes lead somewhere, and how far to run `last`. No index is larger than that run has. */
static inline int mote_select_axes_fit(const mote_select_t *p, uint32_t last, mote_selected_t *far) {
    far->c = far->x = far->y = 0;
    for (int32_t i = 0; i < p->axes; i++) {
        const mote_select_axis_t *axis = &p->axis[i];
        const uint32_t size = (uint32_t)axis->size, most = last < size ? last : size - 1;
        if (!mote_counts(axis->size | axis->c | axis->x | axis->y) || size == 0) {
            return 0;
        }
        far->c = mote_much_plus(far->c, mote_much_times(most, (uint32_t)axis->c));
        far->x = mote_much_plus(far->x, mote_much_times(most, (uint32_t)axis->x));
        far->y = mote_much_plus(far->y, mote_much_times(most, (uint32_t)axis->y));
        last /= size;
    }
    return 1;
}

/* Whether operand k has the elements of a run that begins at element `begin`. */
static inline int mote_select_run_fits(const mote_select_t *p, const mote_room_t *room, int32_t k, uint32_t begin,
                                       int32_t step, uint32_t size) {
    const uint32_t end = mote_much_plus(begin, mote_reach(p->run, step));
    return mote_takes(room, k, mote_much_times(mote_much_plus(end, 1), size), size);
}

static inline int mote_select_fits(const mote_select_t *p, const mote_room_t *room, uint32_t size) {
    const uint32_t runs = mote_count(room->hi, p->runs, 1, 1);
    mote_selected_t far;
    return mote_asks_rows(room) && mote_within(p->axes, 0, MOTE_SELECT_AXES) &&
           mote_holds(room, p->axis, (uint32_t)p->axes * sizeof *p->axis, 4) &&
           mote_gives(room, mote_much_times(runs, mote_count(p->run, (int32_t)size, 1, 1)), size) &&
           mote_select_axes_fit(p, runs - 1, &far) && mote_select_run_fits(p, room, 0, far.c, p->c_step, 1) &&
           mote_select_run_fits(p, room, 1, far.x, p->x_step, size) &&
           mote_select_run_fits(p, room, 2, far.y, p->y_step, size);
}

#endif
