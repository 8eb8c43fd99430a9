/* mote_batch_matmul_fits.h: whether parameters of mote_batch_matmul.h fit. */
#ifndef MOTE_BATCH_MATMUL_FITS_H
#define MOTE_BATCH_MATMUL_FITS_H

#include "mote_batch_matmul.h"
#include "mote_broadcast_fits.h"

/* Bytes of the elements of an operand. */
typedef struct {
    uint32_t left, right, out;
} mote_matmul_sizes_t;

/* From the begin of lines of a matrix to behind the last element of a sum of the last one. */
static inline uint32_t mote_matmul_end(int32_t lines, int32_t line, int32_t depth, int32_t step) {
    return mote_much_plus(mote_much_plus(mote_reach(lines, line), mote_reach(depth, step)), 1);
}

/* Whether operand k has so many bytes. A kernel that is told of one row of its output may find all rows of either operand
 * from the one on that it is given. */
static inline int mote_matmul_takes(const mote_room_t *room, int32_t k, uint32_t bytes, uint32_t size) {
    const uint32_t rows = room->form == MOTE_RUN_EACH ? mote_size(room->taps[k]) : 1;
    return mote_takes(room, k, 0, size) && bytes <= mote_much_times(room->in[k], rows) && bytes <= INT32_MAX;
}

/* Whole products. */
static inline int mote_matmul_products_fit(const mote_matmul_t *p, const mote_room_t *room, mote_matmul_sizes_t size) {
    const uint32_t left = mote_matmul_end(p->rows, p->left_line, p->depth, p->left_step);
    const uint32_t right = mote_matmul_end(p->columns, p->right_line, p->depth, p->right_step);
    mote_walked_t far;
    return mote_walk_fits(&p->walk, room, size.out, &far) &&
           mote_count(p->rows, p->columns, 1, 1) <= mote_size(p->walk.run) &&
           mote_matmul_takes(room, 0, mote_much_times(mote_much_plus(far.a, left), size.left), size.left) &&
           mote_matmul_takes(room, 0, mote_count(p->rows, p->depth, (int32_t)size.left, 1), size.left) &&
           mote_matmul_takes(room, 1, mote_much_times(mote_much_plus(far.b, right), size.right), size.right);
}

/* One line of a product, from one of the left matrix and so many of the right one, with `right` elements of each. */
static inline int mote_matmul_line_fits(const mote_matmul_t *p, const mote_room_t *room, mote_matmul_sizes_t size,
                                        int32_t lines, uint32_t right) {
    return room->form == MOTE_RUN_ROW && room->outside == 0 && room->taps[0] == 1 &&
           mote_within(lines, 1, room->taps[1]) &&
           mote_takes(room, 0, mote_count(p->depth, (int32_t)size.left, 1, 1), size.left) &&
           mote_takes(room, 1, mote_much_times(right, size.right), size.right) &&
           mote_gives(room, mote_count(p->columns, (int32_t)size.out, 1, 1), size.out);
}

/* One line, or whole products. */
static inline int mote_matmul_turned_fits(const mote_matmul_t *p, const mote_room_t *room, mote_matmul_sizes_t size) {
    const uint32_t left = mote_matmul_end(1, 0, p->depth, p->left_step);
    const uint32_t right = mote_matmul_end(1, 0, p->depth, p->right_step);
    return room->form != MOTE_RUN_ROW ? mote_matmul_products_fit(p, room, size)
                                      : mote_matmul_line_fits(p, room, size, p->columns, right) &&
                                            mote_takes(room, 0, mote_much_times(left, size.left), size.left);
}

static inline int mote_matmul_lines_fits(const mote_matmul_t *p, const mote_room_t *room, mote_matmul_sizes_t size) {
    return room->form != MOTE_RUN_ROW ? mote_matmul_products_fit(p, room, size)
                                      : mote_matmul_line_fits(p, room, size, p->depth, mote_size(p->columns));
}

#endif
