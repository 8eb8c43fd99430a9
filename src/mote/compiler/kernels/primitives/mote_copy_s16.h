/* mote_copy_s16.h: a few int16 elements, or more, from anywhere to anywhere. */
#ifndef MOTE_COPY_S16_H
#define MOTE_COPY_S16_H

#include "mote_common.h"
#include "mote_copy_s16_helium.h"

/* Gives where the next elements go. The C library takes its time to begin. */
#ifndef mote_copy_s16
MOTE_UNUSED static inline int16_t *mote_copy_s16(const int16_t *from, int32_t count, int16_t *to) {
    if (count > 32) {
        memcpy(to, from, (size_t)count * sizeof *to);
        return to + count;
    }
    for (; count > 0; count--) {
        *to++ = *from++;
        MOTE_MOVED(to);
    }
    return to;
}
#endif

#ifndef mote_zeros_s16
MOTE_UNUSED static inline int16_t *mote_zeros_s16(int32_t count, int16_t *to) {
    if (count > 32) {
        memset(to, 0, (size_t)count * sizeof *to);
        return to + count;
    }
    for (; count > 0; count--) {
        *to++ = 0;
        MOTE_MOVED(to);
    }
    return to;
}
#endif

#endif
