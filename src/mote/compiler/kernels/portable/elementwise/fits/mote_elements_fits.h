/* mote_elements_fits.h: room for elements: what most functions share that check the parameters of kernels.
 *
 * Memory begins at multiples of four bytes, and rows lie as far apart as they are long: where that is a multiple of an
 * element's size, or of four, all elements lie where a core can load them.
 */
#ifndef MOTE_ELEMENTS_FITS_H
#define MOTE_ELEMENTS_FITS_H

#include "mote_room.h"

/* A room for so many bytes, of elements of a size. */
static inline int mote_has(uint32_t room, uint32_t bytes, uint32_t size) {
    return bytes <= room && bytes <= INT32_MAX && room % (size < 4 ? size : 4) == 0;
}

/* Whether operand k has so many bytes, of elements of a size. */
static inline int mote_takes(const mote_room_t *room, int32_t k, uint32_t bytes, uint32_t size) {
    return mote_has(room->in[k], bytes, size) && (size < 8 || (room->eights >> k & 1) != 0);
}

/* The same where the kernel writes it as well. */
static inline int mote_keeps(const mote_room_t *room, int32_t k, uint32_t bytes, uint32_t size) {
    return mote_takes(room, k, bytes, size) && !(room->fixed >> k & 1);
}

/* Whether the output has so many bytes, of elements of a size. */
static inline int mote_gives(const mote_room_t *room, uint32_t bytes, uint32_t size) {
    return mote_has(room->out, bytes, size) && (size < 8 || (room->eights >> MOTE_OPERANDS & 1) != 0);
}

/* Whether the kernel's own function is called for tensors or for a row of each, not one of those for rows or sums. */
static inline int mote_of_tensors(const mote_room_t *room) {
    return room->form == MOTE_RUN_WHOLE || room->form == MOTE_RUN_EACH;
}

/* A product of numbers from 1 to MOTE_LARGEST, or MOTE_MUCH. */
static inline uint32_t mote_count(int32_t a, int32_t b, int32_t c, int32_t d) {
    const int counts = mote_within(a, 1, MOTE_LARGEST) && mote_within(b, 1, MOTE_LARGEST) &&
                       mote_within(c, 1, MOTE_LARGEST) && mote_within(d, 1, MOTE_LARGEST);
    return counts ? mote_much_times(mote_bytes_of(a, b, (uint32_t)c), (uint32_t)d) : MOTE_MUCH;
}

/* From the first of `count` elements to the last one, with steps that do not go back. */
static inline uint32_t mote_reach(int32_t count, int32_t step) {
    return mote_within(count, 1, MOTE_LARGEST) ? mote_bytes_of(count - 1, step, 1) : MOTE_MUCH;
}

/* Elements of a tensor with `size` of them at each time of each sequence, one beside another. */
static inline uint32_t mote_sequence(int32_t batch, int32_t time, int32_t batch_step, int32_t time_step, int32_t size) {
    const uint32_t last = mote_much_plus(mote_reach(batch, batch_step), mote_reach(time, time_step));
    const uint32_t end = mote_much_plus(last, mote_count(size, 1, 1, 1)), all = mote_count(batch, time, size, 1);
    return end > all ? end : all;
}

/* Whether rows of a tensor that has so many are added up one by one. */
static inline int mote_adds(const mote_room_t *room, int32_t rows) {
    return room->form == MOTE_RUN_SUMS && room->lo >= 0 && room->hi <= rows;
}

/* Functions of units of elements: so many go in and come out. */
static inline int mote_each_fits(const mote_room_t *room, int32_t units, uint32_t in, uint32_t out) {
    return mote_of_tensors(room) && units >= 0 && mote_takes(room, 0, mote_much_times((uint32_t)units, in), in) &&
           mote_gives(room, mote_much_times((uint32_t)units, out), out);
}

/* What mote_rescale shifts by. */
static inline int mote_rescales(int32_t shift) { return mote_within(shift, -32, 31); }

#endif
