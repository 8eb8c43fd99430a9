/* mote_sum_s8_helium.h: mote_sum_s8.h, which includes it, with vectors. */
#ifndef MOTE_SUM_S8_HELIUM_H
#define MOTE_SUM_S8_HELIUM_H

#include "mote_helium.h"

#if MOTE_HELIUM
/* Add n >= 1 pixels, `step` elements apart, to the sums of sixteen neighbouring channels; at most 256, whose sums fit
 * half words. */
__attribute__((naked, noinline, unused)) static void mote_helium_sum(const int8_t *x __attribute__((unused)),
                                                                     int32_t step __attribute__((unused)),
                                                                     int32_t n __attribute__((unused)),
                                                                     int32_t *sum __attribute__((unused))) {
    __asm__ volatile("push {r4, lr}\n\t"
                     "sub sp, sp, #32\n\t"
                     "vmov.i32 q0, #0\n\t"
                     "vmov.i32 q1, #0\n\t"
                     "dls lr, r2\n"
                     "1:\n\t"
                     "vldrb.s16 q2, [r0]\n\t"
                     "vadd.i16 q0, q0, q2\n\t"
                     "vldrb.s16 q3, [r0, #8]\n\t"
                     "vadd.i16 q1, q1, q3\n\t"
                     "add r0, r0, r1\n\t"
                     "le lr, 1b\n\t"
                     "vstrh.16 q0, [sp]\n\t"
                     "vstrh.16 q1, [sp, #16]\n\t"
                     "mov r0, sp\n\t"
                     "mov r2, #4\n\t"
                     "dls lr, r2\n"
                     "2:\n\t"
                     "vldrh.s32 q0, [r0], #8\n\t"
                     "vldrw.u32 q1, [r3]\n\t"
                     "vadd.i32 q0, q0, q1\n\t"
                     "vstrw.32 q0, [r3], #16\n\t"
                     "le lr, 2b\n\t"
                     "add sp, sp, #32\n\t"
                     "pop {r4, pc}\n\t");
}

/* mote_sum_4 of sixteen neighbouring channels. */
static inline void mote_sum_16(const int8_t *x, int32_t step, int32_t n, int32_t *sum) {
    for (int32_t some; n > 0; n -= some, x += some * step) {
        some = mote_min(n, MOTE_HALF_SUMS);
        mote_helium_sum(x, step, some, sum);
    }
}
#define mote_sum_16 mote_sum_16

/* Sums in q0 become averages, and 4 bytes at r2, as `mote_average` makes them: r4 is the offset, q1 `even`, q2 the
 * inverse, q3 and q4 the limits, r12 128. */
#define MOTE_HELIUM_AVERAGE_FOUR \
    "vshr.s32 q5, q0, #31\n\t" \
    "vand q5, q5, q1\n\t" \
    "vadd.i32 q0, q0, r4\n\t" \
    "vadd.i32 q0, q0, q5\n\t" \
    "vshl.i32 q0, q0, #1\n\t" \
    "vmulh.u32 q0, q0, q2\n\t" \
    "vsub.i32 q0, q0, r12\n\t" \
    "vmax.s32 q0, q0, q3\n\t" \
    "vmin.s32 q0, q0, q4\n\t" \
    "vstrb.32 q0, [r2], #4\n\t"

#define MOTE_HELIUM_AVERAGE_TERMS \
    "mov r12, #128\n\t" \
    "vdup.32 q1, r5\n\t" \
    "vdup.32 q2, r6\n\t" \
    "vdup.32 q3, r7\n\t" \
    "vdup.32 q4, r8\n\t"

/* n averages of `sum`; `terms` = offset, even, inverse, least, greatest. */
__attribute__((naked, noinline, unused)) static void mote_helium_average(const int32_t *sum __attribute__((unused)),
                                                                         const int32_t *terms __attribute__((unused)),
                                                                         int8_t *out __attribute__((unused)),
                                                                         int32_t n __attribute__((unused))) {
    __asm__ volatile("push {r4-r8, lr}\n\t"
                     "vpush {d8-d11}\n\t"
                     "ldm r1, {r4-r8}\n\t" MOTE_HELIUM_AVERAGE_TERMS
                     "wlstp.32 lr, r3, 2f\n"
                     "1:\n\t"
                     "vldrw.u32 q0, [r0], #16\n\t" MOTE_HELIUM_AVERAGE_FOUR
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "vpop {d8-d11}\n\t"
                     "pop {r4-r8, pc}\n\t");
}
#define mote_average_terms mote_helium_average
#endif

#endif
