/* mote_convert_fits.h: checks of the parameters of mote_convert.h. */
#ifndef MOTE_CONVERT_FITS_H
#define MOTE_CONVERT_FITS_H

#include "mote_common_fits.h"
#include "mote_convert.h"

/* Elements that become others, whatever the parameters are. */
#define MOTE_CONVERT_FITS(name, from, to) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        (void)p; \
        return mote_each_fits(room, room->hi, sizeof(from), sizeof(to)); \
    }

#define MOTE_QUANTIZE_FITS(name, to, lo, hi) MOTE_CONVERT_FITS(name, float, to)
#define MOTE_DEQUANTIZE_FITS(name, from) MOTE_CONVERT_FITS(name, from, float)
#define MOTE_CAST_PLAIN_FITS(name, from, to) MOTE_CONVERT_FITS(name, from, to)
#define MOTE_CAST_BOOL_FITS(name, from) MOTE_CONVERT_FITS(name, from, uint8_t)
#define MOTE_CAST_REAL_FITS(name, to, least, most, limit) MOTE_CONVERT_FITS(name, float, to)

#define MOTE_REQUANTIZE_FITS(name, from, to) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        return mote_rescales(p->shift) && mote_each_fits(room, room->hi, sizeof(from), sizeof(to)); \
    }

#endif
