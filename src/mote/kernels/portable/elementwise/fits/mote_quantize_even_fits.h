/* mote_quantize_even_fits.h: checks of the parameters of mote_quantize_even.h. */
#ifndef MOTE_QUANTIZE_EVEN_FITS_H
#define MOTE_QUANTIZE_EVEN_FITS_H

#include "mote_common_fits.h"
#include "mote_quantize_even.h"

#define MOTE_QUANTIZE_EVEN_FITS(name, to, least, most, by) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        (void)p; \
        return mote_each_fits(room, room->hi, 4, sizeof(to)); \
    }

#endif
