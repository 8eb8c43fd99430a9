/* mote_strides_fits.h: checks of the parameters of mote_strides.h. */
#ifndef MOTE_STRIDES_FITS_H
#define MOTE_STRIDES_FITS_H

#include "mote_move_fits.h"
#include "mote_strides.h"

/* The reach of an output row's elements in what it is made from, which begins at `start` and steps with the digits of the
 * row's number, through the whole input or inside of its row. */
static inline int mote_strides_reach(const mote_strides_t *p, const mote_room_t *room, mote_reach_t *in) {
    const int by_rows = room->form == MOTE_RUN_ROW;
    mote_reach_t out;
    if (!mote_move_reach(&p->move, room, (uint32_t)(p->out_row / p->taps), in, &out) ||
        !mote_holds(room, p->digit, mote_bytes_of(p->digits, 1, sizeof *p->digit), 4)) {
        return 0;
    }
    in->low += by_rows ? p->inside : p->start;
    in->high += by_rows ? p->inside : p->start;
    for (int32_t d = 0; d < p->digits; d++) {
        const mote_digit_t *digit = &p->digit[d];
        if (!mote_counts(digit->size) || digit->size == 0) {
            return 0;
        }
        mote_reach_on(in, digit->size, by_rows ? digit->inside : digit->step);
    }
    mote_reach_on(in, p->taps, by_rows ? 0 : p->tap_in);
    mote_reach_on(&out, p->taps, p->tap_out);
    return mote_reaches(&out, (uint32_t)p->out_row);
}

static inline int mote_strides_fits(const mote_strides_t *p, const mote_room_t *room) {
    mote_reach_t in;
    if (!mote_counts(p->taps | p->out_row | p->digits | room->lo) || p->taps == 0 ||
        !mote_strides_reach(p, room, &in) || !mote_reaches(&in, room->in[0])) {
        return 0;
    }
    if (room->form == MOTE_RUN_ROW) {
        return p->taps <= room->taps[0] && !(room->outside & 1) && (uint32_t)p->out_row <= room->out;
    }
    return mote_asks_rows(room) && mote_gives(room, mote_bytes_of(room->hi, p->out_row, 1), 1);
}

#endif
