/* mote_max_roi_pool_f32_fits.h: whether parameters of mote_max_roi_pool_f32.h fit. */
#ifndef MOTE_MAX_ROI_POOL_F32_FITS_H
#define MOTE_MAX_ROI_POOL_F32_FITS_H

#include "mote_elements_fits.h"
#include "mote_max_roi_pool_f32.h"

static inline int mote_max_roi_pool_f32_fits(const mote_max_roi_pool_f32_t *p, const mote_room_t *room) {
    const uint32_t pixels = mote_count(p->images, p->height, p->width, p->channels);
    const uint32_t cells = mote_count(p->regions, p->rows, p->columns, p->channels);
    return mote_of_tensors(room) && mote_takes(room, 0, mote_much_times(pixels, 4), 4) &&
           mote_takes(room, 1, mote_count(p->regions, 20, 1, 1), 4) && mote_gives(room, mote_much_times(cells, 4), 4);
}

#endif
