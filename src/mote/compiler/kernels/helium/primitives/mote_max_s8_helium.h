/* mote_max_s8_helium.h: mote_max_s8.h, which includes it, with vectors. */
#ifndef MOTE_MAX_S8_HELIUM_H
#define MOTE_MAX_S8_HELIUM_H

#include "mote_helium.h"

#if MOTE_HELIUM
/* The larger of each of sixteen bytes of `most` and of n >= 1 pixels, `step` elements apart. */
__attribute__((naked, noinline, unused)) static void mote_max_16(const int8_t *x __attribute__((unused)),
                                                                     int32_t step __attribute__((unused)),
                                                                     int32_t n __attribute__((unused)),
                                                                     int8_t *most __attribute__((unused))) {
    __asm__ volatile("push {r4, lr}\n\t"
                     "vldrb.u8 q0, [r3]\n\t"
                     "dls lr, r2\n"
                     "1:\n\t"
                     "vldrb.u8 q1, [r0]\n\t"
                     "add r0, r0, r1\n\t"
                     "vmax.s8 q0, q0, q1\n\t"
                     "le lr, 1b\n\t"
                     "vstrb.8 q0, [r3]\n\t"
                     "pop {r4, pc}\n\t");
}
#define mote_max_16 mote_max_16
#endif

#endif
