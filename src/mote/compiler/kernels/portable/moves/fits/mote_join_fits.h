/* mote_join_fits.h: checks of the parameters of mote_join.h. */
#ifndef MOTE_JOIN_FITS_H
#define MOTE_JOIN_FITS_H

#include "mote_join.h"
#include "mote_move_fits.h"

/* Whether a part stays inside of an input row of so many bytes, and of the output row. */
static inline int mote_part_of_join_fits(const mote_part_t *m, uint32_t in_row, uint32_t out_row) {
    mote_reach_t in = {m->in_start, (int64_t)m->in_start + m->run};
    mote_reach_t out = {m->out_start, (int64_t)m->out_start + m->run};
    if (mote_count(m->lines, m->items, m->run, 1) > out_row) {
        return 0;
    }
    mote_reach_on(&in, m->lines, m->line_in);
    mote_reach_on(&in, m->items, m->item_in);
    mote_reach_on(&out, m->lines, m->line_out);
    mote_reach_on(&out, m->items, m->item_out);
    return mote_reaches(&in, in_row) && mote_reaches(&out, out_row);
}

static inline int mote_join_fits(const mote_join_t *p, const mote_room_t *room, int32_t inputs) {
    const int by_rows = room->form == MOTE_RUN_ROW;
    int fits = mote_within(p->parts, 0, mote_min(inputs, room->operands)) && mote_counts(p->out_stride) &&
               mote_holds(room, p->part, (uint32_t)p->parts * sizeof *p->part, 4) &&
               mote_fill_fits(&p->fill, room, (uint32_t)p->out_stride) &&
               (by_rows ? (uint32_t)p->out_stride <= room->out
                        : mote_asks_rows(room) && mote_counts(p->out_rows) && p->out_rows > 0 &&
                              mote_gives(room, mote_bytes_of(room->hi, p->out_stride, 1), 1));
    for (int32_t i = 0; fits && i < p->parts; i++) {
        const mote_part_t *m = &p->part[i];
        const uint32_t row = by_rows ? room->in[i] : mote_size(m->stride);
        fits = mote_part_of_join_fits(m, row, (uint32_t)p->out_stride) &&
               (by_rows ? room->taps[i] == 1
                        : mote_counts(m->rows | m->stride) &&
                              mote_takes(room, i, mote_images_bytes(room->hi, p->out_rows, m->rows, row), 1));
    }
    return fits;
}

#endif
