/* mote_layer_projection_fits.h: checks of the parameters of mote_layer_projection.h. */
#ifndef MOTE_LAYER_PROJECTION_FITS_H
#define MOTE_LAYER_PROJECTION_FITS_H

#include "mote_layer_fits.h"
#include "mote_layer_projection.h"

/* Bytes of the weights, which are a constant that is known by its first row where vectors come one by one. */
static inline uint32_t mote_projection_weights(const mote_room_t *room) {
    return room->form == MOTE_RUN_EACH ? mote_much_times(room->in[1], mote_size(room->taps[1])) : room->in[1];
}

#define MOTE_LAYER_PROJECTION_FITS(name, in_t, weight_t, each_t, sum_t, out_t, finish_t, zero_of, plus, start_of, \
                                   finish_of, weight_zero_of) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        return mote_vectors_fit(room, p->depth, p->channels, sizeof(in_t)) && \
               mote_has(mote_projection_weights(room), mote_bytes_of(p->channels, p->depth, sizeof(weight_t)), \
                        sizeof(weight_t)) && \
               finish_of##_FITS(&p->finish, room, p->channels); \
    }

#endif
