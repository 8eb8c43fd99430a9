/* mote_overlay_fits.h: whether parameters of mote_overlay.h fit. */
#ifndef MOTE_OVERLAY_FITS_H
#define MOTE_OVERLAY_FITS_H

#include "mote_index_fits.h"
#include "mote_move_fits.h"
#include "mote_overlay.h"

/* `reach`: how far behind the begin of the tensor the other one may begin. */
static inline int mote_overlay_from(const mote_overlay_t *p, const mote_room_t *room, uint32_t reach) {
    return mote_of_tensors(room) && mote_goes_on(room, mote_size(p->bytes)) && reach <= room->out &&
           mote_moves(&p->move, room, room->in[1], room->out - reach);
}

static inline int mote_overlay_fits(const mote_overlay_t *p, const mote_room_t *room) {
    return mote_overlay_from(p, room, 0);
}

static inline int mote_update_fits(const mote_update_t *p, const mote_room_t *room) {
    return mote_overlay_from(&p->overlay, room, mote_begin_reach(room, p->begin, p->axes, 2, p->width));
}

#endif
