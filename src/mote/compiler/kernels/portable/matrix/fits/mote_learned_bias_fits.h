/* mote_learned_bias_fits.h: checks of the parameters of mote_learned_bias.h: those of the kernel inside, which reads a copy
 * of one array. */
#ifndef MOTE_LEARNED_BIAS_FITS_H
#define MOTE_LEARNED_BIAS_FITS_H

#include "mote_learned_bias.h"
#include "mote_common_fits.h"
#include "mote_learned_fits.h"

/* Whether biases lie in steps of elements of `size` bytes, or each at its place in an array of integers. */
static inline int mote_learned_places_fit(const mote_learned_bias_t *p, const mote_room_t *room, uint32_t bytes,
                                          size_t size) {
    if (p->places == NULL) {
        return p->placed == 0 && p->step >= 1 && (size == 4 || p->step == (int32_t)size / 4) &&
               mote_count(p->channels, p->step, 4, 1) <= bytes;
    }
    int fits = size == 4 && mote_array_fits(room, p->places, p->placed, 2, 1, 1, 2);
    for (int32_t i = 0; fits && i < p->placed; i++) {
        fits = p->places[2 * i] < p->channels && p->places[2 * i + 1] < p->words;
    }
    return fits;
}

/* Whether the array can be copied, of which biases are the first words of elements of `size` bytes, or of records of 32-bit
 * integers, and the widths of what is added to them. */
static inline int mote_learned_copy_fits(const mote_learned_bias_t *p, const mote_room_t *room, const void *array,
                                         size_t size) {
    const uint32_t bytes = mote_count(p->words, 4, 1, 1);
    int fits = p->own >= 0 && p->own % 4 == 0 && mote_much_plus((uint32_t)p->own, bytes) <= room->scratch &&
               bytes != MOTE_MUCH && mote_learned_places_fit(p, room, bytes, size) &&
               mote_holds(room, array, bytes, 4) && mote_holds(room, p->bits, mote_size(p->channels), 1) &&
               (p->scale == NULL || mote_array_fits(room, p->scale, p->channels, 1, 1, 1, 4));
    for (int32_t c = 0; fits && c < p->channels; c++) {
        fits = p->bits[c] <= 30;
    }
    return fits && mote_learned_behind(room, room->form == MOTE_RUN_ROWS ? p->under_rows : p->under_row) &&
           mote_learned_has(room, 1, mote_count(p->channels, 4, 1, 1), 4);
}

/* The room of the kernel inside. */
static inline mote_room_t mote_learned_inner(const mote_learned_bias_t *p, const mote_room_t *room, const void *array) {
    mote_room_t inner = *room;
    inner.copied = array;
    inner.copies = (uint32_t)p->words * 4u;
    inner.scratch = (uint32_t)p->own;
    return inner;
}

#define MOTE_LEARNED_PARAMETER_FITS(id, path) \
    if (!mote_learned_copy_fits(&p->learned, room, p->kernel.path, sizeof *p->kernel.path)) { \
        return 0; \
    } \
    const mote_room_t inner = mote_learned_inner(&p->learned, room, p->kernel.path); \
    return mote_##id##_fits(&p->kernel, &inner);
#define MOTE_LEARNED_PLACE_FITS(id, path) \
    return mote_learned_copy_fits(&p->learned, room, p->learned.starts, sizeof(int32_t)) && mote_##id##_fits(&p->kernel, room);
#define MOTE_LEARNED_PAIRS_FITS(id, path) MOTE_LEARNED_PLACE_FITS(id, path)

#define MOTE_LEARNED_BIAS_FLAT_FITS(id, put, path, working) \
    MOTE_UNUSED static inline int mote_##id##_learned_fits(const mote_##id##_learned_t *p, const mote_room_t *room) { \
        put##_FITS(id, path) \
    }
#define MOTE_LEARNED_BIAS_ROWS_FITS(id, put, path, working) MOTE_LEARNED_BIAS_FLAT_FITS(id, put, path, working)
#define MOTE_LEARNED_BIAS_WHOLE_FITS(id, put, path, working) MOTE_LEARNED_BIAS_FLAT_FITS(id, put, path, working)

#endif
