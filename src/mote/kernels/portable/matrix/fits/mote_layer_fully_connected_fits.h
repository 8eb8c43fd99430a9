/* mote_layer_fully_connected_fits.h: checks of the parameters of mote_layer_fully_connected.h. */
#ifndef MOTE_LAYER_FULLY_CONNECTED_FITS_H
#define MOTE_LAYER_FULLY_CONNECTED_FITS_H

#include "mote_layer_fits.h"
#include "mote_layer_fully_connected.h"

#define MOTE_LAYER_FULLY_CONNECTED_FITS(name, in_t, weight_t, each_t, sum_t, out_t, finish_t, zero_of, plus, \
                              start_of, finish_of, dots) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        return mote_vectors_fit(room, p->depth, p->channels, sizeof(in_t)) && \
               mote_array_fits(room, p->weights, p->channels, p->depth, 1, 1, sizeof(weight_t)) && \
               finish_of##_FITS(&p->finish, room, p->channels); \
    }

#endif
