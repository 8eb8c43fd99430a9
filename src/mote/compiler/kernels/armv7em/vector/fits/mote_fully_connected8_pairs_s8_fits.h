/* mote_fully_connected8_pairs_s8_fits.h: whether parameters of the kernels in mote_fully_connected8_pairs_s8.h fit. */
#ifndef MOTE_FULLY_CONNECTED8_PAIRS_S8_FITS_H
#define MOTE_FULLY_CONNECTED8_PAIRS_S8_FITS_H

#include "mote_blocks_fits.h"
#include "mote_elements_fits.h"
#include "mote_fully_connected8_pairs_s8.h"

/* Words of constants of eight outputs, by their form. */
enum { MOTE_FC8_CONSTANTS_once = 0, MOTE_FC8_CONSTANTS_relu = 20, MOTE_FC8_CONSTANTS_linear = 28 };

/* For code of so many steps of four inputs. */
MOTE_NOINLINE int mote_fc8_pairs_fit(const mote_fully_connected8_pairs_t *p, const mote_room_t *room, uint32_t steps,
                                     uint32_t constants) {
    const uint32_t eights = (uint32_t)p->channels / 8, words = 8 + 8 * steps + constants;
    return mote_of_tensors(room) && mote_within(p->channels, 1, MOTE_LARGEST) &&
           mote_within(p->inputs, 1, 4 * (int32_t)steps) &&
           mote_takes(room, 0, mote_bytes_of(room->hi, p->inputs, 1), 1) &&
           mote_gives(room, mote_bytes_of(room->hi, p->channels, 1), 1) && room->scratch >= 8 * steps &&
           mote_holds_words(room, p->weights, mote_much_times(eights, words)) &&
           (p->channels % 8 == 0 || mote_holds_words(room, p->weights, mote_much_plus(mote_size(p->rest), words)));
}

#endif
