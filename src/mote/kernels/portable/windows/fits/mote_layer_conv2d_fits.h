/* mote_layer_conv2d_fits.h: checks of the parameters of mote_layer_conv2d.h. */
#ifndef MOTE_LAYER_CONV2D_FITS_H
#define MOTE_LAYER_CONV2D_FITS_H

#include "mote_layer_conv2d.h"
#include "mote_layer_fits.h"

/* Groups may leave input channels over. */
#define MOTE_LAYER_CONV2D_FITS(name, in_t, weight_t, each_t, sum_t, out_t, finish_t, zero_of, plus, start_of, \
                              finish_of, dots) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        const int32_t outputs = (int32_t)mote_count(p->groups, p->outputs, 1, 1); \
        return mote_count(p->groups, p->depth, 1, 1) <= mote_size(p->in_channels) && \
               mote_array_fits(room, p->weights, outputs, p->rows.taps, p->cols.taps, p->depth, sizeof(weight_t)) && \
               finish_of##_FITS(&p->finish, room, outputs) && \
               mote_pixels_fit(&p->rows, &p->cols, room, p->in_channels, outputs, sizeof(in_t)); \
    }

#endif
