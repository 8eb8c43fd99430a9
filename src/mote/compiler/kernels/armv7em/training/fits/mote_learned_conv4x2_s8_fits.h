/* mote_learned_conv4x2_s8_fits.h: the working memory of the kernel in mote_learned_conv4x2_s8.h. */
#ifndef MOTE_LEARNED_CONV4X2_S8_FITS_H
#define MOTE_LEARNED_CONV4X2_S8_FITS_H

#include "mote_learned_conv2d_s8_fits.h"
#include "mote_learned_conv4x2_s8.h"
#include "mote_steps_s8_fits.h"

/* Of parameters that fit in all else. */
static inline int mote_learned_conv4x2_fit(const mote_learned_conv4x2_s8_t *p, const mote_room_t *room) {
    const int32_t lines = (p->rows.out - 1) / 2 * p->rows.stride + p->rows.taps;
    const int32_t columns = (p->cols.out - 1) * p->cols.stride + p->cols.taps;
    const uint32_t image = mote_much_times(mote_bytes_of(lines, columns, 4), mote_size(p->inputs));
    return mote_much_plus(image, mote_bytes_of(p->layer.depth, 8, 1)) <= room->scratch;
}

#endif
