/* mote_fully_connected4_s8_fits.h: whether parameters of the kernels in mote_fully_connected4_s8.h fit. */
#ifndef MOTE_FULLY_CONNECTED4_S8_FITS_H
#define MOTE_FULLY_CONNECTED4_S8_FITS_H

#include "mote_blocks_fits.h"
#include "mote_fully_connected4_s8.h"
#include "mote_present_fits.h"

/* Words of constants behind the weights of four outputs; none: weights are pairs, with scales of their own. */
#define MOTE_FC4_CONSTANTS_once 0
#define MOTE_FC4_CONSTANTS_twice 0
#define MOTE_FC4_CONSTANTS_relu 8
#define MOTE_FC4_CONSTANTS_linear 12

/* Words of all that `fours` times four outputs have, from `stream` on; `lanes`: words for two inputs. */
static inline uint32_t mote_fc4_words_of(const mote_fc4_t *p, const mote_room_t *room, const int32_t *stream,
                                         int32_t fours, uint32_t lanes, uint32_t constants, uint32_t block) {
    const mote_blocks_t blocks = {1 + lanes * block / 2, 0, 2 * block};
    const uint32_t depth = (uint32_t)p->depth;
    uint32_t words = 0;
    if (block == 0) {
        return mote_much_times((uint32_t)fours, 4 + lanes * depth / 2 + constants);
    }
    for (; fours > 0 && words != MOTE_MUCH && mote_holds_words(room, stream, words); fours--) {
        words = mote_much_plus(words + 4 + constants, mote_blocks_words(room, stream + words + 4, blocks, 2 * depth));
    }
    return fours > 0 ? MOTE_MUCH : words;
}

/* Weights and constants of all outputs, and the scales of pairs. */
MOTE_NOINLINE int mote_fc4_fits(const mote_fc4_t *p, const mote_room_t *room, uint32_t constants, uint32_t block) {
    const int32_t fours = p->channels / 4, rest = (p->channels & 3) != 0;
    const uint32_t lanes = constants > 0 ? 4 : 2;
    uint32_t words, last;
    if (!mote_within(p->channels, 1, MOTE_LARGEST) || !mote_within(p->depth, 8, MOTE_LARGEST) || p->depth % 8 != 0 ||
        !mote_within(p->rest, 0, MOTE_LARGEST) || (p->step != 0 && p->step != 8)) {
        return 0;
    }
    words = mote_fc4_words_of(p, room, p->weights, fours, lanes, constants, block);
    if (!mote_holds_words(room, p->weights, words)) {
        return 0;
    }
    if (rest) {
        if (!mote_holds_words(room, p->weights, (uint32_t)p->rest)) {
            return 0;
        }
        last = mote_fc4_words_of(p, room, p->weights + p->rest, 1, lanes, constants, block);
        if (!mote_holds_words(room, p->weights + p->rest, last)) {
            return 0;
        }
    }
    if (constants > 0) {
        return p->step == 0;
    }
    words = 8 * (p->step == 0 ? 1 : (uint32_t)(fours + rest));
    return mote_holds_words(room, p->scale, words) && mote_shifts_fit(p->scale + 1, (int32_t)words / 2, 2);
}

/* Vectors one after another; `lean`: without scratch. */
MOTE_NOINLINE int mote_fc4_vectors_fit(const mote_fc4_t *p, const mote_room_t *room, uint32_t constants, uint32_t block,
                                       int32_t lean) {
    const uint32_t depth = mote_size(p->depth);
    return mote_of_tensors(room) && mote_within(p->inputs, 1, p->depth) && (!lean || p->inputs == p->depth) &&
           mote_fc4_fits(p, room, constants, block) && mote_takes(room, 0, mote_bytes_of(room->hi, p->inputs, 1), 1) &&
           mote_gives(room, mote_bytes_of(room->hi, p->channels, 1), 1) && (lean || room->scratch >= 2 * depth);
}

/* The vector under a window of rows, all of which are inside the image. */
MOTE_NOINLINE int mote_fc4_rows_fit(const mote_fc4_rows_t *p, const mote_room_t *room, uint32_t constants,
                                    uint32_t block) {
    const mote_fc4_t *const v = &p->vector;
    return mote_within(p->line, 1, v->depth) && mote_within(p->rows.taps, 1, v->depth) &&
           mote_bytes_of(p->rows.taps, (p->line + 3) & ~3, 1) <= (uint32_t)v->depth &&
           mote_fc4_fits(v, room, constants, block) && room->scratch >= 2 * (uint32_t)v->depth &&
           mote_rows_inside(&p->rows, room) &&
           mote_window_fits(&p->rows, room, (uint32_t)p->line, (uint32_t)v->channels, 1);
}

#define MOTE_FC4_FITS_LEAN(name, form) \
    MOTE_UNUSED static inline int name##_s8_fits(const mote_fc4_t *p, const mote_room_t *room) { \
        return mote_fc4_vectors_fit(p, room, MOTE_FC4_CONSTANTS_##form, 0, 1); \
    }
#define MOTE_FC4_FITS_ROOMY(name, form, block) \
    MOTE_UNUSED static inline int name##_s8_fits(const mote_fc4_t *p, const mote_room_t *room) { \
        return mote_fc4_vectors_fit(p, room, MOTE_FC4_CONSTANTS_##form, block, 0); \
    } \
    MOTE_UNUSED static inline int name##_rows_s8_fits(const mote_fc4_rows_t *p, const mote_room_t *room) { \
        return mote_fc4_rows_fit(p, room, MOTE_FC4_CONSTANTS_##form, block); \
    }
#define MOTE_FC4_FITS_KERNELS(name, form) \
    MOTE_FC4_FITS_LEAN(name, form) \
    MOTE_FC4_FITS_ROOMY(name##_roomy, form, 0) \
    MOTE_FC4_FITS_ROOMY(name##_sparse8, form, 8) \
    MOTE_FC4_FITS_ROOMY(name##_sparse4, form, 4)

MOTE_FC4_FITS_KERNELS(mote_fully_connected4, once)
MOTE_FC4_FITS_KERNELS(mote_fully_connected4_twice, twice)

#define MOTE_FULLY_CONNECTED4_FITS(form, s) MOTE_FC4_FITS_KERNELS(mote_fully_connected4_##form##_##s, form)

#endif
