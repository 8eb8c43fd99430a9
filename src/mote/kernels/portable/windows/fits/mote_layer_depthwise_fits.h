/* mote_layer_depthwise_fits.h: checks of the parameters of mote_layer_depthwise.h. */
#ifndef MOTE_LAYER_DEPTHWISE_FITS_H
#define MOTE_LAYER_DEPTHWISE_FITS_H

#include "mote_layer_depthwise.h"
#include "mote_layer_fits.h"

#define MOTE_LAYER_DEPTHWISE_FITS(name, in_t, weight_t, each_t, sum_t, out_t, finish_t, zero_of, plus, start_of, \
                              finish_of) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        const uint32_t most = mote_count(p->in_channels, p->multiplier, 1, 1); \
        return most != MOTE_MUCH && mote_counts(p->channels) && (uint32_t)p->channels <= most && \
               mote_array_fits(room, p->weights, p->rows.taps, p->cols.taps, p->channels, 1, sizeof(weight_t)) && \
               finish_of##_FITS(&p->finish, room, p->channels) && \
               mote_pixels_fit(&p->rows, &p->cols, room, p->in_channels, p->channels, sizeof(in_t)); \
    }

#endif
