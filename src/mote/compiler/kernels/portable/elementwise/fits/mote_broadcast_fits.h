/* mote_broadcast_fits.h: checks of the walk of mote_broadcast.h over two operands. */
#ifndef MOTE_BROADCAST_FITS_H
#define MOTE_BROADCAST_FITS_H

#include "mote_broadcast.h"
#include "mote_common_fits.h"

/* Whether two tensors of one shape have room, and one that is made of them. */
static inline int mote_two_fit(const mote_room_t *room, uint32_t size) {
    return mote_vectors_fit(room, 1, 1, size) && mote_takes(room, 1, mote_bytes_of(room->hi, 1, size), size);
}

/* Where the last run of a walk begins, in elements of both operands. */
typedef struct {
    uint32_t a, b;
} mote_walked_t;

/* Whether the output has room for a walk, and how far it leads. No index on an axis is larger than the last run has. */
static inline int mote_walk_fits(const mote_broadcast_t *walk, const mote_room_t *room, uint32_t out_size,
                                 mote_walked_t *far) {
    uint32_t last = mote_bytes_of(room->hi, walk->runs, 1);
    far->a = far->b = 0;
    if (!mote_asks_rows(room) || !mote_counts(walk->run | walk->runs) || walk->run == 0 || last == MOTE_MUCH ||
        !mote_within(walk->axes, 0, MOTE_MAX_AXES) ||
        !mote_gives(room, mote_much_times(last, mote_bytes_of(walk->run, 1, out_size)), out_size) ||
        !mote_holds(room, walk->axis, (uint32_t)walk->axes * sizeof *walk->axis, 4)) {
        return 0;
    }
    last -= last > 0;
    for (int32_t i = 0; i < walk->axes; i++) {
        const mote_axis_t *x = &walk->axis[i];
        const uint32_t size = (uint32_t)x->size, most = last < size ? last : size - 1;
        if (!mote_counts(x->size | x->a | x->b) || size == 0) {
            return 0;
        }
        far->a = mote_much_plus(far->a, mote_much_times(most, (uint32_t)x->a));
        far->b = mote_much_plus(far->b, mote_much_times(most, (uint32_t)x->b));
        last /= size;
    }
    return 1;
}

/* Bytes of elements up to the end of a run that begins at element `begin`, and steps or stays. */
static inline uint32_t mote_run_end(uint32_t begin, int32_t run, int32_t step, uint32_t size) {
    return mote_much_times(mote_much_plus(begin, step ? (uint32_t)run : 1), size);
}

/* Whether the operands and the output have room for a walk; `a_step` is 1, or 0 where the first operand stays inside a
 * run, the sizes are bytes of elements. */
static inline int mote_broadcast_fits(const mote_broadcast_t *walk, const mote_room_t *room, int32_t a_step,
                                      uint32_t a_size, uint32_t b_size, uint32_t out_size) {
    mote_walked_t far;
    return mote_walk_fits(walk, room, out_size, &far) && mote_within(a_step | walk->b_step, 0, 1) &&
           mote_takes(room, 0, mote_run_end(far.a, walk->run, a_step, a_size), a_size) &&
           mote_takes(room, 1, mote_run_end(far.b, walk->run, walk->b_step, b_size), b_size);
}

#endif
