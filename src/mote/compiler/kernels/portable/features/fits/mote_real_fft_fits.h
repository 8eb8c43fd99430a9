/* mote_real_fft_fits.h: whether parameters of mote_real_fft.h fit. */
#ifndef MOTE_REAL_FFT_FITS_H
#define MOTE_REAL_FFT_FITS_H

#include "mote_elements_fits.h"
#include "mote_real_fft.h"

#define MOTE_REAL_FFT_STAGES 16

/* Whether stages make a transform of so many points, each of which has a place and a root of unity. */
static inline int mote_real_fft_fits(const mote_real_fft_t *p, const mote_room_t *room) {
    int32_t left = p->points;
    const int32_t folded = p->length != p->points;
    if (!mote_within(p->points, 1, UINT16_MAX) || !mote_within(p->stages, 0, MOTE_REAL_FFT_STAGES) ||
        (folded && p->length != 2 * p->points) ||
        (p->stages > 0 && !mote_holds(room, p->radix, (uint32_t)p->stages, 1)) ||
        !mote_holds(room, p->place, 2 * (uint32_t)p->points, 2) ||
        (p->points > 1 && !mote_holds(room, p->roots, 4 * ((uint32_t)p->points - 1), 2)) ||
        (folded && !mote_holds(room, p->last, 4 * ((uint32_t)p->points / 2 + 1), 2))) {
        return 0;
    }
    for (int32_t i = 0; i < p->stages; i++) {
        const int32_t radix = mote_flash_u8(p->radix + i);
        if (!mote_within(radix, 2, 5) || left % radix != 0) {
            return 0;
        }
        left /= radix;
    }
    for (int32_t i = 0; i < p->points; i++) {
        if ((int32_t)mote_flash_u16(p->place + i) >= p->points) {
            return 0;
        }
    }
    return left == 1;
}

#endif
