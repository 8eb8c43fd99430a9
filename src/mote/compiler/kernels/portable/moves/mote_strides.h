/* mote_strides.h: output rows whose elements lie at even steps of the input: repeated, reversed, or taken from blocks of
 * pixels. Any element type.
 *
 * The number of an output row is counted in digits, each of which steps through the input. All steps are in bytes.
 */
#ifndef MOTE_STRIDES_H
#define MOTE_STRIDES_H

#include "mote_move.h"

/* A digit of a row's number: how far it steps in the whole input, and how far inside a row of the input. */
typedef struct {
    int32_t size, step, inside;
} mote_digit_t;

typedef struct {
    int32_t digits; /* the last one is the fastest */
    const mote_digit_t *digit;
    int32_t start, inside; /* where row 0 begins to read, in the whole input and in its input row */
    int32_t out_row;       /* bytes of an output row */
    int32_t taps;          /* input rows that an output row is made from */
    int32_t tap_in, tap_out;
    mote_move_t move; /* what each of them gives */
} mote_strides_t;

/* One output row from pointers to its input rows. */
static inline void mote_strides_row(const mote_strides_t *p, const int8_t *const *rows, int32_t y, int8_t *out) {
    int32_t from = p->inside;
    for (int32_t d = p->digits - 1; d >= 0; d--) {
        const int32_t rest = y / p->digit[d].size;
        from += (y - rest * p->digit[d].size) * p->digit[d].inside;
        y = rest;
    }
    for (int32_t t = 0; t < p->taps; t++) {
        mote_move(&p->move, rows[t] + from, out + t * p->tap_out);
    }
}

static inline void mote_strides(const mote_strides_t *p, const void *in, void *out, int32_t lo, int32_t hi) {
    for (int32_t y = lo; y < hi; y++) {
        int32_t from = p->start;
        for (int32_t d = p->digits - 1, n = y; d >= 0; d--) {
            const int32_t rest = n / p->digit[d].size;
            from += (n - rest * p->digit[d].size) * p->digit[d].step;
            n = rest;
        }
        for (int32_t t = 0; t < p->taps; t++) {
            mote_move(&p->move, (const int8_t *)in + from + t * p->tap_in,
                      (int8_t *)out + y * p->out_row + t * p->tap_out);
        }
    }
}

#endif
