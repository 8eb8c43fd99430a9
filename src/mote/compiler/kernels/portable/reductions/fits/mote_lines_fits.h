/* mote_lines_fits.h: whether parameters of mote_lines.h fit. */
#ifndef MOTE_LINES_FITS_H
#define MOTE_LINES_FITS_H

#include "mote_common_fits.h"
#include "mote_lines.h"

/* What a step of a line has: bytes of both operands and of the output, and the rows or units that it is asked for. */
static inline const mote_room_t *mote_line_room(mote_room_t *step, const mote_room_t *room, uint32_t a, uint32_t b,
                                                uint32_t out, int32_t hi) {
    memset(step, 0, sizeof *step);
    step->image = room->image, step->end = room->end;
    step->form = MOTE_RUN_WHOLE, step->operands = 2;
    step->in[0] = a, step->in[1] = b, step->out = out, step->hi = hi;
    return step;
}

/* `checks` are those of the steps, each in a room of its own, `step`; `top` is how many elements lie between them. */
#define MOTE_LINES_FITS(name, type, size, fields, steps, top, checks) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        const uint32_t bytes = mote_count(room->hi, size, sizeof(type), 1); \
        mote_room_t step; \
        return mote_asks_units(room) && mote_takes(room, 0, bytes, sizeof(type)) && \
               mote_gives(room, bytes, sizeof(type)) && (top) * sizeof(type) <= room->scratch && (checks); \
    }

#endif
