/* mote_pick.h: rows whose elements are found at listed places of the input: mirrored edges, constant indices. Any
 * element type.
 */
#ifndef MOTE_PICK_H
#define MOTE_PICK_H

#include "mote_move.h"

/* An axis of the output: its elements lie at evenly spaced places of the input, or at those that a list names. Steps
 * and places are in bytes. */
typedef struct {
    int32_t size, step;
    int32_t list; /* where its places begin in the list of all; below zero: at even steps */
} mote_pick_axis_t;

typedef struct {
    int32_t rows, row_axes, out_row; /* of the output, bytes of one */
    const mote_pick_axis_t *axis;    /* those that count rows, then those inside of a row: two of them */
    const int32_t *place;
    int32_t run; /* bytes that lie side by side */
} mote_pick_t;

static inline int32_t mote_pick_place(const mote_pick_t *p, const mote_pick_axis_t *axis, int32_t i) {
    return axis->list < 0 ? i * axis->step : p->place[axis->list + i];
}

/* One output row from its input row. */
static inline void mote_pick_row(const mote_pick_t *p, const int8_t *const *rows, int8_t *out) {
    const mote_pick_axis_t *const lines = p->axis + p->row_axes, *const items = lines + 1;
    for (int32_t i = 0; i < lines->size; i++) {
        const int8_t *const from = rows[0] + mote_pick_place(p, lines, i);
        if (items->list < 0) {
            mote_move_items(from, out, items->size, items->step, p->run, p->run);
            out += items->size * p->run;
            continue;
        }
        const int32_t *const place = p->place + items->list;
        for (int32_t k = 0; k < items->size; k++, out += p->run) {
            mote_move_items(from + place[k], out, 1, 0, 0, p->run);
        }
    }
}

static inline void mote_pick(const mote_pick_t *p, const void *in, void *out, int32_t lo, int32_t hi) {
    for (int32_t y = lo; y < hi; y++) {
        const int8_t *row = (const int8_t *)in;
        for (int32_t a = p->row_axes - 1, n = y; a >= 0; a--) {
            const int32_t rest = n / p->axis[a].size;
            row += mote_pick_place(p, p->axis + a, n - rest * p->axis[a].size);
            n = rest;
        }
        mote_pick_row(p, &row, (int8_t *)out + y * p->out_row);
    }
}

/* The same under another shape, whose rows are not those of the input. */
typedef mote_pick_t mote_pick_whole_t;

static inline void mote_pick_whole(const mote_pick_whole_t *p, const void *in, void *out) {
    mote_pick(p, in, out, 0, p->rows);
}

#endif
