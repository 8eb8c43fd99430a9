/* mote_fully_connected6_pairs_s8_fits.h: whether parameters of the kernels in mote_fully_connected6_pairs_s8.h fit. */
#ifndef MOTE_FULLY_CONNECTED6_PAIRS_S8_FITS_H
#define MOTE_FULLY_CONNECTED6_PAIRS_S8_FITS_H

#include "mote_blocks_fits.h"
#include "mote_elements_fits.h"
#include "mote_fully_connected6_pairs_s8.h"

/* For code of so many steps of four inputs, with so many words of a pair beside its weights, whose last outputs are so many pairs. */
MOTE_NOINLINE int mote_fc6_pairs_fit(const mote_fully_connected6_pairs_t *p, const mote_room_t *room, uint32_t steps,
                                     uint32_t others, int32_t last) {
    const uint32_t pairs = ((uint32_t)p->channels + 1) / 2, words = 2 * steps + others;
    const int32_t rest = p->channels % 6;
    return mote_of_tensors(room) && mote_within(p->channels, 6, MOTE_LARGEST) &&
           (rest == 0 || (rest + 1) / 2 == last) && mote_within(p->inputs, 1, 4 * (int32_t)steps) &&
           mote_takes(room, 0, mote_bytes_of(room->hi, p->inputs, 1), 1) &&
           mote_gives(room, mote_bytes_of(room->hi, p->channels, 1), 1) &&
           mote_holds_words(room, p->weights, mote_much_times(pairs, words));
}

#endif
