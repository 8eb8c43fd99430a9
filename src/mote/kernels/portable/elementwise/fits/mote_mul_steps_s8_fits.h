/* mote_mul_steps_s8_fits.h: checks of the parameters of mote_mul_steps_s8.h. */
#ifndef MOTE_MUL_STEPS_S8_FITS_H
#define MOTE_MUL_STEPS_S8_FITS_H

#include "mote_broadcast_fits.h"
#include "mote_mul_steps_s8.h"

static inline int mote_mul_steps_s8_fits(const mote_mul_steps_s8_t *p, const mote_room_t *room) {
    return mote_array_fits(room, p->steps, 256, 1, 1, 1, 4) && mote_two_fit(room, 1);
}

static inline int mote_mul_steps_rows_s8_fits(const mote_mul_steps_rows_s8_t *p, const mote_room_t *room) {
    return mote_array_fits(room, p->mul_steps.steps, 256, 1, 1, 1, 4) && mote_broadcast_fits(&p->walk, room, 1, 1, 1, 1);
}

#endif
