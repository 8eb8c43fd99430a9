/* mote_copy_s16_helium.h: mote_copy_s16.h, which includes it, with vectors. */
#ifndef MOTE_COPY_S16_HELIUM_H
#define MOTE_COPY_S16_HELIUM_H

#include "mote_helium.h"

#if MOTE_HELIUM
MOTE_UNUSED static inline int16_t *mote_copy_s16(const int16_t *from, int32_t count, int16_t *to) {
    int16_t *const end = to + count;
    __asm__ volatile("wlstp.16 lr, %2, 2f\n"
                     "1:\n\t"
                     "vldrh.u16 q0, [%0], #16\n\t"
                     "vstrh.16 q0, [%1], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n"
                     : "+r"(from), "+r"(to)
                     : "r"(count)
                     : "lr", "d0", "d1", "memory");
    return end;
}
#define mote_copy_s16 mote_copy_s16

MOTE_UNUSED static inline int16_t *mote_zeros_s16(int32_t count, int16_t *to) {
    int16_t *const end = to + count;
    __asm__ volatile("vmov.i32 q0, #0\n\t"
                     "wlstp.16 lr, %1, 2f\n"
                     "1:\n\t"
                     "vstrh.16 q0, [%0], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n"
                     : "+r"(to)
                     : "r"(count)
                     : "lr", "d0", "d1", "memory");
    return end;
}
#define mote_zeros_s16 mote_zeros_s16
#endif

#endif
