/* mote_code_fits.h: checks of prefix codes, so that whatever the coded bits are, decoding them stays inside of the
 * image and ends. */
#ifndef MOTE_CODE_FITS_H
#define MOTE_CODE_FITS_H

#include "mote_code.h"
#include "mote_common_fits.h"

#define MOTE_LEAST_SHIFT_OF_CODES 7 /* codes of 25 bits, as many as a decoder sees at once */

/* Whether every code of class k, the last one or not, has a value, or stands for one zero at least. */
static inline int mote_class_fits(const mote_code_t *c, const mote_room_t *room, int32_t k, int32_t last) {
    const int32_t found = c->classes[k], shift = found & 31, bits = 32 - shift - k;
    if (shift < MOTE_LEAST_SHIFT_OF_CODES) {
        return 0;
    }
    const int32_t first = (bits > 0 && k < last ? (int32_t)1 << (bits - 1) : 0) + (found >> 5);
    const int32_t end = (bits > 0 ? (int32_t)1 << bits : 1) + (found >> 5);
    return k == c->run ? first > 0 : first >= 0 && mote_holds(room, c->values, (uint32_t)end, 1);
}

/* Whether the codes of `rows` times `count` weights lie inside of the image, each row of them from the end of the one
 * before. Where even the longest codes would, none of them is looked at. */
static inline int mote_codes_inside(const mote_code_t *c, const mote_room_t *room, int32_t rows, int32_t count) {
    uint32_t at = 0;
    if (mote_holds(room, c->bits, mote_much_plus(mote_bytes_of(rows, count, 4), 4), 1)) {
        return 1;
    }
    for (; rows > 0; rows--) {
        for (int32_t left = count; left > 0;) {
            int32_t place;
            if (!mote_holds(room, c->bits, (at >> 3) + 4, 1)) {
                return 0;
            }
            left -= mote_decode(c, &at, &place) == c->run ? place : 1;
        }
    }
    return 1;
}

/* Whether so many rows of weights can be decoded. */
static inline int mote_code_fits(const mote_code_t *c, const mote_room_t *room, int32_t rows, int32_t count) {
    const int32_t last = c->stop ? mote_leading_zeros(c->stop) : 0;
    int fits = c->stop != 0 && mote_array_fits(room, c->classes, last + 1, 1, 1, 1, 2);
    for (int32_t k = 0; fits && k <= last; k++) {
        fits = mote_class_fits(c, room, k, last);
    }
    return fits && mote_codes_inside(c, room, rows, count);
}

#endif
