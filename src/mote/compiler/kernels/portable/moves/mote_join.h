/* mote_join.h: output rows put together from rows of one or more inputs: slices, padding, concatenation. */
#ifndef MOTE_JOIN_H
#define MOTE_JOIN_H

#include "mote_move.h"

/* What one input gives: output row y takes its row first + y * step, if the image has that row. Of that row
 * it takes lines x items runs of bytes. Strides, starts and steps are in bytes. */
typedef struct {
    int32_t first, step, rows, stride;
    int32_t in_start, out_start;
    int32_t lines, line_in, line_out;
    int32_t items, item_in, item_out;
    int32_t run;
} mote_part_t;

typedef struct {
    int32_t out_rows, out_stride; /* rows of one image, bytes from one to the next */
    int32_t parts;
    const mote_part_t *part;
    mote_fill_t fill; /* what a row holds where no part lies; no bytes where the parts cover it */
} mote_join_t;

/* The part of an output row that a row of one input gives. */
static inline void mote_join_part(const mote_part_t *m, const int8_t *row, int8_t *out) {
    for (int32_t k = 0; k < m->lines; k++) {
        mote_move_items(row + m->in_start + k * m->line_in, out + m->out_start + k * m->line_out, m->items, m->item_in,
                        m->item_out, m->run);
    }
}

/* What no part gives of a row, of which the first one is there or not. If that is all in one piece, only what lies around
 * it. */
static inline void mote_join_fill(const mote_join_t *p, int32_t there, int8_t *out) {
    const mote_part_t *const m = p->part;
    if (p->fill.bytes > 0 && p->parts == 1 && there && m->lines == 1 && m->items == 1) {
        mote_fill_between(&p->fill, out, 0, m->out_start);
        mote_fill_between(&p->fill, out, m->out_start + m->run, p->fill.bytes);
    } else {
        mote_fill(&p->fill, out);
    }
}

/* One output row from one row of each input, NULL where an input has no part in it. */
static inline void mote_join_row(const mote_join_t *p, const int8_t *const *rows, int8_t *out) {
    mote_join_fill(p, rows[0] != NULL, out);
    for (int32_t i = 0; i < p->parts; i++) {
        if (rows[i] != NULL) {
            mote_join_part(p->part + i, rows[i], out);
        }
    }
}

/* Whether every row has one of each input, from which items at the same steps are taken as from the rows around it. */
static inline int mote_join_even(const mote_join_t *p) {
    int even = p->fill.bytes == 0;
    for (int32_t i = 0; i < p->parts; i++) {
        const mote_part_t *m = p->part + i;
        const int on = m->items == 1 || (m->items * m->item_in == m->stride && m->items * m->item_out == p->out_stride);
        even = even && on && m->lines == 1 && m->first == 0 && m->step == 1 && m->rows == p->out_rows;
    }
    return even;
}

/* All rows at once. */
static inline void mote_join_rows(const mote_join_t *p, const int8_t *const *in, int8_t *out, int32_t lo, int32_t hi) {
    for (int32_t i = 0; i < p->parts; i++) {
        const mote_part_t *m = p->part + i;
        const int one = m->items == 1;
        mote_move_items(in[i] + lo * m->stride + m->in_start, out + lo * p->out_stride + m->out_start,
                        (hi - lo) * m->items, one ? m->stride : m->item_in, one ? p->out_stride : m->item_out, m->run);
    }
}

static inline void mote_join(const mote_join_t *p, const int8_t *const *in, int8_t *out, int32_t lo, int32_t hi) {
    if (mote_join_even(p)) {
        mote_join_rows(p, in, out, lo, hi);
        return;
    }
    for (int32_t y = lo; y < hi; y++) {
        const int32_t image = y / p->out_rows;
        int8_t *to = out + y * p->out_stride;
        for (int32_t i = 0; i < p->parts; i++) {
            const mote_part_t *m = p->part + i;
            const int32_t row = m->first + (y - image * p->out_rows) * m->step, there = row >= 0 && row < m->rows;
            if (i == 0) {
                mote_join_fill(p, there, to);
            }
            if (there) {
                mote_join_part(m, in[i] + (image * m->rows + row) * m->stride, to);
            }
        }
    }
}

/* The same for a known number of inputs, as the function's parameters and their names say. */
#define MOTE_JOIN(inputs, parameters, ...) \
    typedef mote_join_t mote_join_##inputs##_t; \
    MOTE_UNUSED static inline void mote_join_##inputs parameters { \
        const int8_t *const in[] = {__VA_ARGS__}; \
        mote_join(p, in, (int8_t *)out, lo, hi); \
    }

#endif
