/* mote_bytes.h: a few bytes copied or filled in line, sixteen at a time. */
#ifndef MOTE_BYTES_H
#define MOTE_BYTES_H

#include "mote_common.h"
#include "mote_helium.h"

MOTE_ALWAYS_INLINE void mote_bytes_copy(int8_t *to, const int8_t *from, int32_t count) {
#if MOTE_HELIUM
    __asm__ volatile("wlstp.8 lr, %2, 2f\n"
                     "1:\n\t"
                     "vldrb.8 q0, [%1], #16\n\t"
                     "vstrb.8 q0, [%0], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     : "+r"(to), "+r"(from)
                     : "r"(count)
                     : "lr", "q0", "cc", "memory");
#else
    memcpy(to, from, (size_t)count);
#endif
}

MOTE_ALWAYS_INLINE void mote_bytes_fill(int8_t *to, int32_t value, int32_t count) {
#if MOTE_HELIUM
    __asm__ volatile("vdup.8 q0, %2\n\t"
                     "wlstp.8 lr, %1, 2f\n"
                     "1:\n\t"
                     "vstrb.8 q0, [%0], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     : "+r"(to)
                     : "r"(count), "r"(value)
                     : "lr", "q0", "cc", "memory");
#else
    memset(to, (int)value, (size_t)count);
#endif
}

#endif
