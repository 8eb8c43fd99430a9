/* mote_join.h: output rows put together from rows of one or more inputs: slices, padding, concatenation. */
#ifndef MOTE_JOIN_H
#define MOTE_JOIN_H

#include "mote_move.h"

#define MOTE_JOIN_MAX 8

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

/* One output row from one row of each input, NULL where an input has no part in it. */
static inline void mote_join_row(const mote_join_t *p, const int8_t *const *rows, int8_t *out) {
    mote_fill(&p->fill, out);
    for (int32_t i = 0; i < p->parts; i++) {
        const mote_part_t *m = p->part + i;
        if (rows[i] == NULL) {
            continue;
        }
        for (int32_t k = 0; k < m->lines; k++) {
            mote_move_items(rows[i] + m->in_start + k * m->line_in, out + m->out_start + k * m->line_out, m->items,
                            m->item_in, m->item_out, m->run);
        }
    }
}

static inline void mote_join(const mote_join_t *p, const int8_t *const *in, int8_t *out, int32_t lo, int32_t hi) {
    const int8_t *rows[MOTE_JOIN_MAX];
    for (int32_t y = lo; y < hi; y++) {
        const int32_t image = y / p->out_rows;
        for (int32_t i = 0; i < p->parts; i++) {
            const mote_part_t *m = p->part + i;
            const int32_t row = m->first + (y - image * p->out_rows) * m->step;
            rows[i] = row >= 0 && row < m->rows ? in[i] + (image * m->rows + row) * m->stride : NULL;
        }
        mote_join_row(p, rows, out + y * p->out_stride);
    }
}

/* The same for a known number of inputs. */
typedef mote_join_t mote_join_1_t, mote_join_2_t, mote_join_3_t, mote_join_4_t;
typedef mote_join_t mote_join_5_t, mote_join_6_t, mote_join_7_t, mote_join_8_t;

static inline void mote_join_1(const mote_join_t *p, const void *a, void *out, int32_t lo, int32_t hi) {
    const int8_t *const in[] = {a};
    mote_join(p, in, out, lo, hi);
}

static inline void mote_join_2(const mote_join_t *p, const void *a, const void *b, void *out, int32_t lo, int32_t hi) {
    const int8_t *const in[] = {a, b};
    mote_join(p, in, out, lo, hi);
}

static inline void mote_join_3(const mote_join_t *p, const void *a, const void *b, const void *c, void *out, int32_t lo,
                               int32_t hi) {
    const int8_t *const in[] = {a, b, c};
    mote_join(p, in, out, lo, hi);
}

static inline void mote_join_4(const mote_join_t *p, const void *a, const void *b, const void *c, const void *d,
                               void *out, int32_t lo, int32_t hi) {
    const int8_t *const in[] = {a, b, c, d};
    mote_join(p, in, out, lo, hi);
}

static inline void mote_join_5(const mote_join_t *p, const void *a, const void *b, const void *c, const void *d,
                               const void *e, void *out, int32_t lo, int32_t hi) {
    const int8_t *const in[] = {a, b, c, d, e};
    mote_join(p, in, out, lo, hi);
}

static inline void mote_join_6(const mote_join_t *p, const void *a, const void *b, const void *c, const void *d,
                               const void *e, const void *f, void *out, int32_t lo, int32_t hi) {
    const int8_t *const in[] = {a, b, c, d, e, f};
    mote_join(p, in, out, lo, hi);
}

static inline void mote_join_7(const mote_join_t *p, const void *a, const void *b, const void *c, const void *d,
                               const void *e, const void *f, const void *g, void *out, int32_t lo, int32_t hi) {
    const int8_t *const in[] = {a, b, c, d, e, f, g};
    mote_join(p, in, out, lo, hi);
}

static inline void mote_join_8(const mote_join_t *p, const void *a, const void *b, const void *c, const void *d,
                               const void *e, const void *f, const void *g, const void *h, void *out, int32_t lo,
                               int32_t hi) {
    const int8_t *const in[] = {a, b, c, d, e, f, g, h};
    mote_join(p, in, out, lo, hi);
}

#endif
