/* mote_fully_connected_coded_s8_fits.h: checks of the parameters of mote_fully_connected_coded_s8.h. */
#ifndef MOTE_FULLY_CONNECTED_CODED_S8_FITS_H
#define MOTE_FULLY_CONNECTED_CODED_S8_FITS_H

#include "mote_code_fits.h"
#include "mote_fully_connected_coded_s8.h"

static inline int mote_fully_connected_coded_s8_fits(const mote_fully_connected_coded_s8_t *p,
                                                     const mote_room_t *room) {
    const int32_t scales = p->step ? p->channels : 1;
    int fits = mote_vectors_fit(room, p->depth, p->channels, 1) && (p->step == 0 || p->step == 2) &&
               mote_array_fits(room, p->start, p->channels, 1, 1, 1, 4) &&
               mote_array_fits(room, p->scale, scales, 2, 1, 1, 4);
    for (int32_t c = 0; fits && c < scales; c++) {
        fits = mote_within(p->scale[2 * c + 1], mote_least_shift_fc(p->round_once), 31);
    }
    return fits && mote_code_fits(&p->code, room, p->channels, p->depth);
}

#endif
