/* mote_unary_f32_fits.h: whether parameters of mote_unary_f32.h fit. */
#ifndef MOTE_UNARY_F32_FITS_H
#define MOTE_UNARY_F32_FITS_H

#include "mote_elements_fits.h"
#include "mote_unary_f32.h"

#define MOTE_UNARY_F32_FITS(name) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        (void)p; \
        return mote_each_fits(room, room->hi, 4, 4); \
    }

MOTE_UNARY_F32_FITS(logistic_f32)
MOTE_UNARY_F32_FITS(tanh_f32)
MOTE_UNARY_F32_FITS(hard_swish_f32)
MOTE_UNARY_F32_FITS(relu_f32)
MOTE_UNARY_F32_FITS(leaky_relu_f32)

#endif
