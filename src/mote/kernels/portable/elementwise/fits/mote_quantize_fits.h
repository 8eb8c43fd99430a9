/* mote_quantize_fits.h: checks of the parameters of mote_quantize.h. */
#ifndef MOTE_QUANTIZE_FITS_H
#define MOTE_QUANTIZE_FITS_H

#include "mote_common_fits.h"
#include "mote_quantize.h"

static inline int mote_quantize_f32_s8_fits(const mote_quantize_f32_s8_t *p, const mote_room_t *room) {
    (void)p;
    return mote_each_fits(room, room->hi, 4, 1);
}

static inline int mote_dequantize_s8_f32_fits(const mote_dequantize_s8_f32_t *p, const mote_room_t *room) {
    (void)p;
    return mote_each_fits(room, room->hi, 1, 4);
}

#endif
