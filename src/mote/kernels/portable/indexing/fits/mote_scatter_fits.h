/* mote_scatter_fits.h: whether parameters of mote_scatter.h fit. */
#ifndef MOTE_SCATTER_FITS_H
#define MOTE_SCATTER_FITS_H

#include "mote_index_fits.h"
#include "mote_scatter.h"

static inline int mote_scatter_fits(const mote_scatter_t *p, const mote_room_t *room, uint32_t size) {
    const uint32_t part = mote_count(p->run, (int32_t)size, 1, 1);
    const uint32_t end = mote_much_plus(mote_tuples_reach(room, p->axis, p->depth), part);
    return mote_of_tensors(room) && mote_takes(room, 0, mote_much_times(mote_count(p->count, 1, 1, 1), part), 1) &&
           mote_indices_fit(room, 1, mote_count(p->count, p->depth, 1, 1), 4) && mote_gives(room, end, 1) &&
           mote_gives(room, mote_size(p->bytes), 1);
}

#define MOTE_SCATTER_FITS(suffix, type, plus) \
    MOTE_UNUSED static inline int mote_scatter_##suffix##_fits(const mote_scatter_t *p, const mote_room_t *room) { \
        return mote_scatter_fits(p, room, sizeof(type)); \
    }

static inline int mote_put_fits(const mote_put_t *p, const mote_room_t *room) {
    const uint32_t width = mote_count(p->width, 1, 1, 1);
    return mote_of_tensors(room) && mote_gives(room, mote_count(p->elements, p->width, 1, 1), 1) &&
           mote_takes(room, 0, mote_much_plus(mote_reach(p->count, p->value_step), width), 1) &&
           mote_indices_fit(room, 1, mote_count(p->count, p->depth, 1, 1), p->index_width) &&
           mote_takes(room, 2, width, 1) &&
           mote_gives(room, mote_much_plus(mote_tuples_reach(room, p->axis, p->depth), width), 1);
}

static inline int mote_one_hot_fits(const mote_one_hot_t *p, const mote_room_t *room) {
    const uint32_t width = mote_count(p->width, 1, 1, 1);
    return mote_of_tensors(room) && mote_gives(room, mote_count(p->elements, p->width, 1, 1), 1) &&
           mote_indices_fit(room, 0, mote_count(p->outer, p->inner, 1, 1), p->index_width) &&
           mote_takes(room, 1, width, 1) && mote_takes(room, 2, width, 1) &&
           mote_gives(room, mote_count(p->outer, p->depth, p->inner, p->width), 1);
}

static inline int mote_reverse_sequence_fits(const mote_reverse_sequence_t *p, const mote_room_t *room) {
    uint32_t end = mote_count(p->run, 1, 1, 1);
    end = mote_much_plus(end, mote_reach(p->size, p->step));
    end = mote_much_plus(end, mote_reach(p->batches, p->batch_step));
    end = mote_much_plus(end, mote_reach(p->outer, p->outer_step));
    end = mote_much_plus(end, mote_reach(p->between, p->between_step));
    return mote_of_tensors(room) && mote_takes(room, 0, end, 1) && mote_gives(room, end, 1) &&
           mote_gives(room, mote_much_times(mote_count(p->size, p->batches, p->outer, p->between), mote_size(p->run)), 1) &&
           mote_indices_fit(room, 1, mote_count(p->batches, 1, 1, 1), p->width);
}

#endif
