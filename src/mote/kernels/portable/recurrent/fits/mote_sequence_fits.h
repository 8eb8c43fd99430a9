/* mote_sequence_fits.h: room for sequences, of which recurrent layers read and write one vector after another. */
#ifndef MOTE_SEQUENCE_FITS_H
#define MOTE_SEQUENCE_FITS_H

#include "mote_elements_fits.h"

/* Elements of a tensor with `size` of them at each time of each sequence, one beside another. */
static inline uint32_t mote_sequence(int32_t batch, int32_t time, int32_t batch_step, int32_t time_step, int32_t size) {
    const uint32_t last = mote_much_plus(mote_reach(batch, batch_step), mote_reach(time, time_step));
    const uint32_t end = mote_much_plus(last, mote_count(size, 1, 1, 1)), all = mote_count(batch, time, size, 1);
    return end > all ? end : all;
}

#endif
