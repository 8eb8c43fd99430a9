/* mote_grid_sample_f32_fits.h: whether parameters of mote_grid_sample_f32.h fit. */
#ifndef MOTE_GRID_SAMPLE_F32_FITS_H
#define MOTE_GRID_SAMPLE_F32_FITS_H

#include "mote_elements_fits.h"
#include "mote_grid_sample_f32.h"

/* Whether an image has all pixels that its axes lead to. */
static inline int mote_image_is_whole(const mote_grid_sample_f32_t *p, const mote_room_t *room) {
    uint32_t reach = mote_count(p->channels, 1, 1, 1);
    if (!mote_holds(room, p->axis, mote_count(p->axes, sizeof *p->axis, 1, 1), 4)) {
        return 0;
    }
    for (int32_t a = 0; a < p->axes; a++) {
        reach = mote_much_plus(reach, mote_reach(p->axis[a].size, p->axis[a].step));
    }
    return reach <= mote_size(p->image);
}

#endif
