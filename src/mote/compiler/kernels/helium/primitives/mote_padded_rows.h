/* mote_padded_rows.h: rows of an image that convolutions keep with their padding. */
#ifndef MOTE_PADDED_ROWS_H
#define MOTE_PADDED_ROWS_H

#include "mote_bytes.h"
#include "mote_common.h"

/* Rows of an image with their padding, in working memory: each is copied once, and stays for as many windows as it is
 * under. */
typedef struct {
    int32_t size;       /* bytes of a row with its padding; 0: rows are read where they are */
    int32_t left, line; /* bytes of padding before the pixels, and of these */
} mote_padded_t;

/* The rows under a window, in the same order, from the first window on or from the one before. */
MOTE_NOINLINE void mote_padded_rows(const mote_padded_t *p, const mote_window_t *w, int32_t zero, int32_t first,
                                    int32_t *turn, const int8_t **rows, int8_t *kept) {
    const int32_t taps = w->taps, all = first || w->spread > 1 || w->step > taps;
    int32_t at = first ? 0 : *turn + (all ? 0 : w->step);
    at -= at >= taps ? taps : 0;
    *turn = at;
    if (first) {
        mote_bytes_fill(kept, zero, taps * p->size);
    }
    for (int32_t k = 0; k < taps; k++, at = at + 1 < taps ? at + 1 : 0) {
        int8_t *const to = kept + at * p->size;
        if (all || k >= taps - w->step) {
            if (rows[k] == NULL) {
                mote_bytes_fill(to, zero, p->size);
            } else {
                mote_bytes_copy(to + p->left, rows[k], p->line);
            }
        }
        rows[k] = to;
    }
}

/* Whether row y is the first of those that are computed, or of an image. */
static inline int32_t mote_padded_first(const mote_window_t *w, int32_t y, int32_t lo) {
    return y == lo || y % w->out_rows == 0;
}

#endif
