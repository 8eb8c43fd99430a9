/* mote_layer_transpose_conv_fits.h: checks of the parameters of mote_layer_transpose_conv.h. */
#ifndef MOTE_LAYER_TRANSPOSE_CONV_FITS_H
#define MOTE_LAYER_TRANSPOSE_CONV_FITS_H

#include "mote_layer_fits.h"
#include "mote_layer_transpose_conv.h"
#include "mote_transpose_conv_fits.h"

#define MOTE_LAYER_TRANSPOSE_CONV_FITS(name, in_t, weight_t, each_t, sum_t, out_t, finish_t, zero_of, plus, \
                              start_of, finish_of, dots) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        const mote_transposed_t t = {p->in_rows,  p->in_columns,  p->in_channels, \
                                     p->out_rows, p->out_columns, p->out_channels}; \
        return mote_transposed_fits(&t, &p->rows, &p->columns, room, sizeof(in_t)) && \
               mote_array_fits(room, p->weights, p->out_channels, p->rows.taps, p->columns.taps, p->in_channels, \
                               sizeof(weight_t)) && \
               finish_of##_FITS(&p->finish, room, p->out_channels); \
    }

#endif
