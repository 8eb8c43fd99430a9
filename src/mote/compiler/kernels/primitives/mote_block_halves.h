/* mote_block_halves.h: mote_block_f32.h with weights of half precision, which become float32 when they are read. They
 * begin at a multiple of four bytes. */
#ifndef MOTE_BLOCK_HALVES_H
#define MOTE_BLOCK_HALVES_H

#include "mote_block_f32.h"
#include "mote_half.h"

#include "mote_block_halves_helium.h"
#include "mote_block_halves_vfp.h"

#define mote_real_halves(w) mote_half(w)

#ifndef mote_block4_halves
MOTE_BLOCK_SUMS(halves, uint16_t)
#endif

#ifndef mote_block4_rows_halves
MOTE_BLOCK_ROWS(halves, uint16_t)
#endif

static inline float mote_dot_halves(float sum, const float *x, const uint16_t *w, int32_t n) {
    for (; n > 0; n--) {
        sum = mote_add_half_product(sum, *x++, *w++);
    }
    return sum;
}

#endif
