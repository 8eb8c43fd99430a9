/* mote_blocks_fits.h: what checks of kernels for DSP instructions share: words of constants, and blocks of weights that
 * are told where their inputs are. */
#ifndef MOTE_BLOCKS_FITS_H
#define MOTE_BLOCKS_FITS_H

#include "mote_room.h"

/* Whether there is room for so many words. */
static inline int mote_holds_words(const mote_room_t *room, const int32_t *array, uint32_t words) {
    return mote_holds(room, array, mote_much_times(words, 4), 4);
}

/* Whether `count` words, each `step` behind the one before, are shifts. The array was found to hold them. */
MOTE_NOINLINE int mote_shifts_fit(const int32_t *shifts, int32_t count, int32_t step) {
    for (; count > 0; count--, shifts += step) {
        if (!mote_within(*shifts, 0, 31)) {
            return 0;
        }
    }
    return 1;
}

/* How blocks of weights lie: words of one, which of them is the distance of its inputs from those before, and bytes of
 * its inputs. */
typedef struct {
    uint32_t words, distance, bytes;
} mote_blocks_t;

/* The blocks of one sum, whose inputs lie in `inputs` bytes, take so many words; MOTE_MUCH where they do not fit. The
 * one way back to an earlier place is that of the last block. */
MOTE_NOINLINE uint32_t mote_blocks_words(const mote_room_t *room, const int32_t *stream, mote_blocks_t block,
                                         uint32_t inputs) {
    uint32_t words = 0, place = 0;
    int32_t distance;
    do {
        if (!mote_holds_words(room, stream, words + block.words)) {
            return MOTE_MUCH;
        }
        distance = stream[words + block.distance];
        place += (uint32_t)distance;
        if (place % 4 != 0 || place > inputs || inputs - place < block.bytes) {
            return MOTE_MUCH;
        }
        place += block.bytes;
        words += block.words;
    } while (distance >= 0);
    return words;
}

#endif
