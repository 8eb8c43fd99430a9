/* mote_transpose_conv_rows_s8_fits.h: checks of the parameters of mote_transpose_conv_rows_s8.h: those of the kernels
 * inside, in the room of a row. */
#ifndef MOTE_TRANSPOSE_CONV_ROWS_S8_FITS_H
#define MOTE_TRANSPOSE_CONV_ROWS_S8_FITS_H

#include "mote_common_fits.h"
#include "mote_transpose_conv_rows_s8.h"

MOTE_NOINLINE int mote_phases_fit(const mote_phases_t *p, const mote_room_t *room) {
    const mote_spread_t *const s = &p->rows;
    if (room->form != MOTE_RUN_WHOLE ||
        !mote_counts(p->count | p->in_rows | p->out_rows | p->in_stride | p->out_stride | p->columns | p->made | p->before) ||
        p->out_rows <= 0 || p->out_stride <= 0 || p->count / p->out_rows >= MOTE_LONGEST ||
        !mote_steps_short(s->taps | s->stride | s->pad) || s->stride <= 0 || mote_spread_taps(s, 0) > MOTE_MAX_TAPS ||
        (p->in_stride | p->out_stride | p->made) % 4 != 0 || (uint32_t)p->made > room->scratch) {
        return 0;
    }
    return (p->made > 0 ? p->before + p->out_stride <= p->made : p->before == 0) &&
           mote_takes(room, 0, mote_images_bytes(p->count, p->out_rows, p->in_rows, (uint32_t)p->in_stride), 1) &&
           mote_gives(room, mote_bytes_of(p->count, p->out_stride, 1), 1);
}

/* How a kernel is called. */
enum { MOTE_PHASE_ROW_FORM = MOTE_RUN_ROW, MOTE_PHASE_ROWS_FORM = MOTE_RUN_ROWS, MOTE_PHASE_FLAT_FORM = MOTE_RUN_EACH };

/* The room of a kernel for the output rows y, y + stride ... of an image; 0 where one reads rows that are not there, which
 * only kernels for single rows take. */
MOTE_NOINLINE int mote_phase_room(const mote_phases_t *p, const mote_room_t *room, int32_t form, int32_t y,
                                  mote_room_t *inner) {
    const int32_t taps = mote_spread_taps(&p->rows, (y + p->rows.pad) % p->rows.stride);
    const int32_t rows = (p->out_rows - y + p->rows.stride - 1) / p->rows.stride, first = mote_phases_first(p, y);
    *inner = *room;
    inner->form = form;
    inner->operands = 1;
    inner->eights = 0;
    inner->in[0] = (uint32_t)p->in_stride;
    inner->out = (uint32_t)(p->made > 0 ? p->made : p->out_stride);
    inner->taps[0] = taps;
    inner->inside = 0;
    inner->start = first;
    inner->step = inner->spread = 1;
    inner->rows = p->in_rows;
    inner->list = NULL;
    inner->at[0] = inner->to = NULL;
    inner->lo = 0;
    inner->hi = form == MOTE_RUN_EACH ? p->columns : rows;
    inner->most = 1;
    inner->scratch = room->scratch - (uint32_t)p->made;
    inner->outside = first < 0 || first + rows - 1 + taps > p->in_rows;
    return rows > 0 && taps > 0 && (form == MOTE_RUN_ROW || (taps == 1 && !inner->outside));
}

/* The first output row of an image that is computed by the kernel for phase `phase` of two. */
static inline int32_t mote_phase_begin(const mote_phases_t *p, int32_t phase) { return (p->rows.pad + phase) % 2; }

#define MOTE_TRANSPOSE_CONV_ROWS_FITS(id, how, of, function, working) \
    MOTE_UNUSED static inline int mote_##id##_fits(const mote_##id##_t *p, const mote_room_t *room) { \
        const mote_phases_t *const phases = &p->phases; \
        mote_room_t inner; \
        return mote_phases_fit(phases, room) && (phases->rows.stride == 1 || phases->out_rows == 1) && \
               mote_phase_room(phases, room, how##_FORM, 0, &inner) && mote_##of##_fits(&p->first, &inner); \
    }

#define MOTE_TRANSPOSE_CONV_ROWS_TWO_FITS(id, how, of, function, working, second_how, second_of, second_function, \
                                          second_working) \
    MOTE_UNUSED static inline int mote_##id##_fits(const mote_##id##_t *p, const mote_room_t *room) { \
        const mote_phases_t *const phases = &p->phases; \
        mote_room_t inner; \
        return mote_phases_fit(phases, room) && phases->rows.stride == 2 && phases->out_rows > 1 && \
               mote_phase_room(phases, room, how##_FORM, mote_phase_begin(phases, 0), &inner) && \
               mote_##of##_fits(&p->first, &inner) && \
               mote_phase_room(phases, room, second_how##_FORM, mote_phase_begin(phases, 1), &inner) && \
               mote_##second_of##_fits(&p->second, &inner); \
    }

#endif
