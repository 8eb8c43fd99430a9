/* mote_learned_fits.h: room for weights and biases that learn: operands behind the first one, each in one piece. */
#ifndef MOTE_LEARNED_FITS_H
#define MOTE_LEARNED_FITS_H

#include "mote_elements_fits.h"

/* Bytes of such an operand, which is known by its first row where vectors come one by one. */
static inline uint32_t mote_learned_bytes(const mote_room_t *room, int32_t k) {
    return room->form == MOTE_RUN_EACH ? mote_much_times(room->in[k], mote_size(room->taps[k])) : room->in[k];
}

/* Whether operand k has so many bytes, of elements of a size. */
static inline int mote_learned_has(const mote_room_t *room, int32_t k, uint32_t bytes, uint32_t size) {
    return room->in[k] % size == 0 && mote_has(mote_learned_bytes(room, k), bytes, size);
}

/* Whether by rows the pointers to what learns are the first ones behind `taps` pointers to rows. */
static inline int mote_learned_behind(const mote_room_t *room, int32_t taps) {
    int fits = room->form == MOTE_RUN_WHOLE || room->form == MOTE_RUN_EACH || room->taps[0] == taps;
    for (int32_t k = 1; k < room->operands; k++) {
        fits = fits && (room->outside >> k & 1) == 0 && (room->form != MOTE_RUN_ROW || room->taps[k] == 1);
    }
    return fits;
}

#endif
