/* mote_arithmetic_f32_fits.h: checks of the parameters of mote_arithmetic_f32.h. */
#ifndef MOTE_ARITHMETIC_F32_FITS_H
#define MOTE_ARITHMETIC_F32_FITS_H

#include "mote_arithmetic_f32.h"
#include "mote_broadcast_fits.h"

static inline int mote_add_f32_fits(const mote_add_f32_t *p, const mote_room_t *room) {
    (void)p;
    return mote_two_fit(room, 4);
}

static inline int mote_mul_f32_fits(const mote_mul_f32_t *p, const mote_room_t *room) {
    (void)p;
    return mote_two_fit(room, 4);
}

static inline int mote_add_rows_f32_fits(const mote_add_rows_f32_t *p, const mote_room_t *room) {
    return mote_broadcast_fits(&p->walk, room, 1, 4, 4, 4);
}

static inline int mote_mul_rows_f32_fits(const mote_mul_rows_f32_t *p, const mote_room_t *room) {
    return mote_broadcast_fits(&p->walk, room, 1, 4, 4, 4);
}

#endif
