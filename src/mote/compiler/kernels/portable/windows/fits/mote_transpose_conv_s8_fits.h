/* mote_transpose_conv_s8_fits.h: checks of the parameters of mote_transpose_conv_s8.h. */
#ifndef MOTE_TRANSPOSE_CONV_S8_FITS_H
#define MOTE_TRANSPOSE_CONV_S8_FITS_H

#include "mote_transpose_conv_fits.h"
#include "mote_transpose_conv_s8.h"

/* Whether a phase has weights, and two of its windows the working memory; it may read as many rows as there are. */
static inline int mote_phase_fits(const mote_transpose_conv_s8_t *p, const mote_room_t *room, const mote_phase_t *phase,
                                  int32_t rows) {
    const uint32_t depth = mote_bytes_of(phase->rows, phase->columns, (uint32_t)p->in_channels);
    const uint32_t pairs = (uint32_t)(p->out_channels + 1) / 2;
    return mote_counts(phase->rows | phase->columns | phase->weights) && phase->rows <= rows &&
           mote_much_times(depth, 2) <= room->scratch &&
           mote_holds(room, p->weights,
                      mote_much_plus((uint32_t)phase->weights, mote_much_times(pairs, (depth + 3) / 4 * 8)), 4);
}

static inline int mote_transpose_conv_s8_fits(const mote_transpose_conv_s8_t *p, const mote_room_t *room) {
    const mote_transposed_t t = {p->in_rows,  p->in_columns,  p->in_channels,
                                 p->out_rows, p->out_columns, p->out_channels};
    const int32_t phases = (int32_t)mote_count(p->rows.stride, p->columns.stride, 1, 1);
    int fits = mote_transposed_fits(&t, &p->rows, &p->columns, room, 1) &&
               mote_array_fits(room, p->phase, phases, sizeof *p->phase / 4, 1, 1, 4) &&
               mote_channels_fit(p->channel, room, (int32_t)mote_count(phases, p->out_channels, 1, 1),
                                 mote_least_shift(&p->output));
    for (int32_t i = 0; fits && i < phases; i++) {
        fits = mote_phase_fits(p, room, &p->phase[i], mote_spread_taps(&p->rows, i / p->columns.stride));
    }
    return fits;
}

#endif
