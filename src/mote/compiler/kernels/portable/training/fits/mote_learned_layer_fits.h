/* mote_learned_layer_fits.h: checks of the parameters of mote_learned_layer.h: those of the layer, whose weights, and
 * biases, are operands. */
#ifndef MOTE_LEARNED_LAYER_FITS_H
#define MOTE_LEARNED_LAYER_FITS_H

#include "mote_learned_fits.h"
#include "mote_learned_layer.h"

#define MOTE_BIASED_FITS(fits) &&fits
#define MOTE_UNBIASED_FITS(fits)

/* There are fewer biases than weights, so that both can stand for as many bytes while the layer is checked. */
#define MOTE_LEARNED_LAYER_FITS(name, of, how, taps) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        mote_##of##_t layer = *p; \
        mote_room_t inner = *room; \
        inner.lent = mote_learned_bytes(room, 1); \
        layer.weights = (const void *)&inner; \
        MOTE_##how##_SETS(layer.finish.bias = (const void *)&inner;) \
        return mote_learned_behind(room, taps) && room->in[1] % sizeof(float) == 0 && mote_##of##_fits(&layer, &inner) \
            MOTE_##how##_FITS(room->in[2] % sizeof(float) == 0) \
            MOTE_##how##_FITS(mote_##of##_biases_fits(p, room, mote_learned_bytes(room, 2))); \
    }
#define MOTE_LEARNED_ROWS_FITS(name, of, how) MOTE_LEARNED_LAYER_FITS(name, of, how, p->rows.taps)
#define MOTE_LEARNED_FLAT_FITS(name, of, how) MOTE_LEARNED_LAYER_FITS(name, of, how, 0)

#endif
