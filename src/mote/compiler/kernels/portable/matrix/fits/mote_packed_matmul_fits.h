/* mote_packed_matmul_fits.h: whether parameters of kernels that are made of mote_packed_matmul.h fit. */
#ifndef MOTE_PACKED_MATMUL_FITS_H
#define MOTE_PACKED_MATMUL_FITS_H

#include "mote_batch_matmul_fits.h"
#include "mote_packed_matmul.h"

/* Products begin no further in either operand than where all indices are the largest ones. */
static inline int mote_packed_matmul_fits(const mote_packed_matmul_t *p, const mote_room_t *room) {
    const mote_matmul_t *size = &p->size;
    const mote_broadcast_t *walk = &size->walk;
    uint32_t left = mote_matmul_end(size->rows, size->left_line, size->depth, size->left_step);
    uint32_t right = mote_matmul_end(size->columns, size->right_line, size->depth, size->right_step);
    const uint32_t rows = mote_bytes_of(size->rows - 1, p->out_line, 1);
    const uint32_t products = mote_bytes_of(walk->runs - 1, walk->run, 1);
    if (room->form != MOTE_RUN_WHOLE || size->rows < 1 || size->depth < 1 || size->columns < 1 || walk->runs < 1 ||
        !mote_counts(size->rows | size->depth | size->columns | walk->runs | walk->run | p->out_line) ||
        !mote_counts(size->left_line | size->left_step | size->right_line | size->right_step) ||
        !mote_within(p->shift, 1, 30) || !mote_within(walk->axes, 0, MOTE_MAX_AXES) ||
        !mote_holds(room, walk->axis, (uint32_t)walk->axes * sizeof *walk->axis, 4)) {
        return 0;
    }
    for (int32_t i = 0; i < walk->axes; i++) {
        const mote_axis_t *x = &walk->axis[i];
        if (!mote_counts(x->size | x->a | x->b) || x->size == 0) {
            return 0;
        }
        left = mote_much_plus(left, mote_bytes_of(x->size - 1, x->a, 1));
        right = mote_much_plus(right, mote_bytes_of(x->size - 1, x->b, 1));
    }
    return mote_takes(room, 0, left, 1) && mote_takes(room, 1, right, 1) &&
           mote_gives(room, mote_much_plus(mote_much_plus(products, rows), (uint32_t)size->columns), 1);
}

#endif
