/* mote_padded_rows_fits.h: whether rows of convolutions fit, as they are or kept with their padding. */
#ifndef MOTE_PADDED_ROWS_FITS_H
#define MOTE_PADDED_ROWS_FITS_H

#include "mote_padded_rows.h"
#include "mote_present_fits.h"

/* Rows of inputs as they are, or kept with their padding: `bytes` of one are read. */
static inline int mote_padded_fits(const mote_padded_t *p, uint32_t bytes) {
    return p->size == 0 || (mote_counts(p->size | p->left | p->line) && p->size % 4 == 0 &&
                            (uint32_t)p->size >= bytes && p->left + p->line <= p->size);
}

/* What convolutions share: rows of `bytes`, which are read as words where `words` says so. */
static inline int mote_padded_rows_fit(const mote_room_t *room, const mote_window_t *w, const mote_span_t *s,
                                      const mote_padded_t *padded, int32_t channels, uint32_t bytes,
                                      int32_t words) {
    const uint32_t row = padded->size > 0 ? (uint32_t)padded->line : bytes;
    const uint32_t in_row = !words || padded->size > 0 ? 0 : mote_of_tensors(room) ? (uint32_t)w->in_stride : room->in[0];
    const uint32_t out = mote_bytes_of(s->out_size, channels, 1);
    return mote_span_fits(s) && s->out_size > 0 && s->step > 0 && mote_padded_fits(padded, bytes) &&
           mote_steps_short(w->step | w->taps) && w->step > 0 && mote_within(w->taps, 1, MOTE_MAX_TAPS) &&
           mote_size(w->out_stride) == out && in_row % 4 == 0 && mote_window_fits(w, room, row, out, 1);
}

#endif
