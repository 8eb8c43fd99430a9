/* mote_nibbles_s8_fits.h: checks of the parameters of mote_nibbles_s8.h. */
#ifndef MOTE_NIBBLES_S8_FITS_H
#define MOTE_NIBBLES_S8_FITS_H

#include "mote_coded_s8_fits.h"
#include "mote_nibbles_s8.h"

/* Whether the weights of `channels` channels can be expanded, into so many bytes at a time, which are words. */
static inline int mote_nibbles_fits(const mote_nibbles_t *p, const mote_room_t *room, int32_t channels,
                                    uint32_t *bytes) {
    const int32_t pairs = (channels + 1) / 2;
    if (!mote_counts(p->first | p->coded | p->last | p->channels | p->step | channels) || p->channels % 2 != 0 ||
        p->channels == 0) {
        return 0;
    }
    *bytes = mote_bytes_of(p->channels / 2, p->first + p->coded + p->last, 1);
    return *bytes <= room->scratch && (p->first | p->coded | p->last) % 4 == 0 &&
           (p->first + p->last == 0 || mote_holds(room, p->rest, mote_bytes_of(pairs, p->first + p->last, 1), 1)) &&
           mote_holds(room, p->words, mote_bytes_of(pairs, (p->coded + 7) / 8, 4), 4);
}

#define MOTE_NIBBLES_FITS(name, field, ...) MOTE_EXPANDED_FITS(nibbles, mote_nibbles_fits, name, field, __VA_ARGS__)

#endif
