/* mote_integers_fits.h: whether parameters of mote_integers.h fit. */
#ifndef MOTE_INTEGERS_FITS_H
#define MOTE_INTEGERS_FITS_H

#include "mote_elements_fits.h"
#include "mote_integers.h"

#define MOTE_INTEGERS_FITS(name, type) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        (void)p; \
        return mote_each_fits(room, room->hi, sizeof(type), sizeof(type)); \
    }

#define MOTE_NEG_FITS(name, type, word) MOTE_INTEGERS_FITS(name, type)
#define MOTE_ABS_FITS(name, type, word) MOTE_INTEGERS_FITS(name, type)
#define MOTE_SIGN_FITS(name, type, word) MOTE_INTEGERS_FITS(name, type)
#define MOTE_NOT_FITS(name) MOTE_INTEGERS_FITS(name, uint8_t)

#endif
