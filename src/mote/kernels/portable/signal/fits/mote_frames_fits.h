/* mote_frames_fits.h: whether parameters of mote_frames.h fit. */
#ifndef MOTE_FRAMES_FITS_H
#define MOTE_FRAMES_FITS_H

#include "mote_elements_fits.h"
#include "mote_frames.h"

static inline int mote_frame_count_fits(const mote_frame_count_t *p, const mote_room_t *room) {
    (void)p;
    return mote_of_tensors(room) && mote_gives(room, 4, 4);
}

static inline int mote_stack_count_fits(const mote_stack_count_t *p, const mote_room_t *room) {
    (void)p;
    return mote_of_tensors(room) && mote_gives(room, 3 * 4, 4);
}

/* What a frame has beside the samples that were kept is part of one step. */
static inline int mote_framer_fits(const mote_framer_t *p, const mote_room_t *room) {
    return mote_of_tensors(room) && mote_within(p->kept, 0, MOTE_LARGEST) && p->kept <= p->room &&
           mote_within(p->step, 1, MOTE_LARGEST) && p->size <= p->kept + p->step &&
           mote_takes(room, 0, mote_count(p->signals, p->frames, p->step, 2), 2) &&
           mote_keeps(room, 1, mote_bytes_of(p->signals, p->room, 2), 2) && mote_takes(room, 2, 4, 4) &&
           mote_gives(room, mote_count(p->signals, p->frames, p->size, 2), 2);
}

static inline int mote_ready_fits(const mote_ready_t *p, const mote_room_t *room) {
    return mote_of_tensors(room) && mote_takes(room, 0, mote_much_times(mote_much_plus(mote_size(p->at), 1), 4), 4) &&
           mote_gives(room, 1, 1);
}

static inline int mote_delay_fits(const mote_delay_t *p, const mote_room_t *room) {
    const uint32_t bytes = mote_count(p->signals, p->samples, 2, 1);
    return mote_of_tensors(room) && mote_takes(room, 0, bytes, 2) &&
           mote_keeps(room, 1, mote_bytes_of(p->signals, p->delay, 2), 2) && mote_gives(room, bytes, 2);
}

static inline int mote_overlap_add_fits(const mote_overlap_add_s16_t *p, const mote_room_t *room, uint32_t size) {
    const int32_t bytes = (int32_t)size;
    return mote_of_tensors(room) && mote_within(p->step, 1, p->size) &&
           mote_takes(room, 0, mote_count(p->signals, p->frames, p->size, bytes), size) &&
           mote_keeps(room, 1, mote_bytes_of(p->signals, p->size - p->step, size), size) &&
           mote_gives(room, mote_count(p->signals, p->frames, p->step, bytes), size);
}

#define MOTE_OVERLAP_ADD_FITS(suffix, type) \
    MOTE_UNUSED static inline int mote_overlap_add_##suffix##_fits(const mote_overlap_add_##suffix##_t *p, \
                                                                   const mote_room_t *room) { \
        return mote_overlap_add_fits(p, room, sizeof(type)); \
    }

/* `left` frames more than one are written behind the frames kept, of which there are as many as stacks can be old. */
static inline int mote_stacker_fits(const mote_stacker_t *p, const mote_room_t *room) {
    const uint32_t frames = mote_much_plus(mote_count(p->frames, 1, 1, 1), mote_size(p->step));
    return mote_of_tensors(room) && mote_within(p->step, 1, MOTE_LARGEST) && mote_size(p->left) < frames - 1 &&
           mote_takes(room, 0, mote_count(p->channels, 2, 1, 1), 2) &&
           mote_keeps(room, 1, mote_much_times(frames - 1, mote_count(p->channels, 2, 1, 1)), 2) &&
           mote_takes(room, 2, 3 * 4, 4) && mote_gives(room, mote_count(p->frames, p->channels, 2, 1), 2);
}

#endif
