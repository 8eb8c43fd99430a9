/* mote_fully_connected8_s8_fits.h: whether parameters of the kernels in mote_fully_connected8_s8.h fit. */
#ifndef MOTE_FULLY_CONNECTED8_S8_FITS_H
#define MOTE_FULLY_CONNECTED8_S8_FITS_H

#include "mote_fully_connected8_s8.h"
#include "mote_lanes_fits.h"
#include "mote_present_fits.h"

/* What is built into the code. */
typedef struct {
    int32_t steps, looped; /* vectors of inputs in a round, and whether there are several rounds */
    int32_t same, count;   /* whether outputs have the same scale; else constants of each */
    int32_t rest;          /* outputs that are left of the last eight */
} mote_fc8_built_t;

/* The shifts of outputs, whose constants are vectors of four; eight lie in the order 0, 2, 4, 6, 1, 3, 5, 7. */
static inline int mote_fc8_shifts_fit(const mote_fc8_t *p) {
    int fits = 1;
    for (int32_t c = 0; fits && c < p->channels; c++) {
        const int32_t at = c / 8 * 8 + c % 2 * 4 + c % 8 / 2;
        fits = mote_lane_shifts(p->constants[at / 4 * 12 + 8 + at % 4]);
    }
    return fits;
}

MOTE_NOINLINE int mote_fc8_fits(const mote_fc8_t *p, const mote_room_t *room, const mote_fc8_built_t *b) {
    const int32_t eights = p->channels / 8 + (p->channels % 8 > 0);
    return mote_counts(p->channels | p->loops) && p->channels > 0 && p->channels <= INT32_MAX - 8 &&
           p->channels % 8 == b->rest && (b->looped ? p->loops > 0 : p->loops == 1) &&
           mote_array_fits(room, p->weights, eights, p->loops, b->steps, 128, 1) && (uintptr_t)p->weights % 4 == 0 &&
           mote_lanes_hold(room, p->constants, 8 * eights, b->same ? 1 : b->count) &&
           (b->same || (p->lanes.constants == b->count && (b->count < 3 || mote_fc8_shifts_fit(p))));
}

/* Bytes of a vector, padded. */
static inline uint32_t mote_fc8_vector(const mote_fc8_t *p, const mote_fc8_built_t *b) {
    return mote_bytes_of(p->loops, b->steps, 16);
}

MOTE_NOINLINE int mote_fc8_vectors_fit(const mote_fc8_t *p, const mote_room_t *room, const mote_fc8_built_t *b) {
    const uint32_t vector = mote_fc8_vector(p, b), copy = p->depth % 16 != 0 ? vector : 0;
    return mote_fc8_fits(p, room, b) && mote_asks_units(room) && mote_counts(p->depth) && p->depth > 0 &&
           (copy > 0 ? (uint32_t)p->depth <= vector : (uint32_t)p->depth == vector) &&
           room->scratch >= copy &&
           mote_takes(room, 0, mote_bytes_of(room->hi, p->depth, 1), 1) &&
           mote_gives(room, mote_bytes_of(room->hi, p->channels, 1), 1);
}

MOTE_NOINLINE int mote_fc8_rows_fit(const mote_fc8_rows_t *p, const mote_room_t *room, const mote_fc8_built_t *b) {
    const uint32_t vector = mote_fc8_vector(&p->vector, b);
    return mote_fc8_fits(&p->vector, room, b) && mote_steps_short(p->rows.taps) && mote_counts(p->line) &&
           mote_bytes_of(p->rows.taps, p->line, 1) <= vector && mote_rows_inside(&p->rows, room) &&
           room->scratch >= vector &&
           mote_window_fits(&p->rows, room, (uint32_t)p->line, (uint32_t)p->vector.channels, 1);
}

#define MOTE_FC8_CODE_FITS(id, steps, same, form, shift, looped, rest) \
    static const mote_fc8_built_t mote_fc8_##id##_built = {steps, looped, same, MOTE_LANES_COUNT_##form, rest};

#endif
