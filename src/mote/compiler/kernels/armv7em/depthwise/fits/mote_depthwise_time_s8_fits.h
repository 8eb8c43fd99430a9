/* mote_depthwise_time_s8_fits.h: whether parameters of the kernels in mote_depthwise_time_s8.h fit. */
#ifndef MOTE_DEPTHWISE_TIME_S8_FITS_H
#define MOTE_DEPTHWISE_TIME_S8_FITS_H

#include "mote_blocks_fits.h"
#include "mote_depthwise_time_s8.h"
#include "mote_elements_fits.h"

/* For code of so many outputs and taps, with outputs `channels` bytes apart; a record has `constants` behind its
 * weights. */
MOTE_NOINLINE int mote_depthwise_time_fits(const mote_depthwise_time_t *p, const mote_room_t *room, int32_t outputs,
                                           int32_t taps, int32_t constants, int32_t channels) {
    const int32_t rows = outputs + taps - 1, record = 1 + (taps > 1 ? taps - 1 : 1) + constants;
    return room->form == MOTE_RUN_WHOLE && p->channels == channels && channels >= 4 && p->in_rows == rows &&
           p->out_rows == outputs && p->record == record &&
           mote_takes(room, 0, mote_count(p->images, rows, channels, 1), 1) &&
           mote_gives(room, mote_count(p->images, outputs, channels, 1), 1) &&
           room->scratch >= 16 * (uint32_t)((rows + 1) / 2) &&
           mote_holds_words(room, p->records, mote_bytes_of(channels, record, 1));
}

#define MOTE_TIME_CONSTANTS_relu 2
#define MOTE_TIME_CONSTANTS_linear 3

#endif
