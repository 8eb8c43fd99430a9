/* mote_quantize_run_helium.h: mote_quantize_run.h, which includes it, with vectors. */
#ifndef MOTE_QUANTIZE_RUN_HELIUM_H
#define MOTE_QUANTIZE_RUN_HELIUM_H

#include "mote_helium.h"

#if MOTE_HELIUM_FLOAT
/* n numbers divided by `scale`, rounded with halves away from zero, with `zero` added, clamped. There is no division of
 * vectors: the product with the inverse is corrected twice by what it leaves over, which makes the nearest quotient of
 * it (Markstein), as a division does. Numbers beyond 512 steps are taken as that, no numbers as the lowest. */
#define MOTE_HELIUM_QUANTIZE_FOUR \
    "vldrw.u32 q0, [r0], #16\n\t" \
    "vmaxnm.f32 q0, q0, q3\n\t" \
    "vminnm.f32 q0, q0, q4\n\t" \
    "vmul.f32 q1, q0, r5\n\t" \
    "vmov q2, q0\n\t" \
    "vfma.f32 q2, q1, r4\n\t" \
    "vfma.f32 q1, q2, r5\n\t" \
    "vfma.f32 q0, q1, r4\n\t" \
    "vfma.f32 q1, q0, r5\n\t" \
    "vcvta.s32.f32 q1, q1\n\t" \
    "vadd.i32 q1, q1, r3\n\t" \
    "vqshl.s32 q1, q1, #24\n\t" \
    "vshr.s32 q1, q1, #24\n\t" \
    "vstrb.32 q1, [r1], #4\n\t"

/* `terms`: the scale below zero, its inverse, and the least and the largest number. */
__attribute__((naked, noinline, unused)) static void mote_helium_quantize(const float *in __attribute__((unused)),
                                                                          int8_t *out __attribute__((unused)),
                                                                          int32_t n __attribute__((unused)),
                                                                          int32_t zero __attribute__((unused)),
                                                                          const float *terms __attribute__((unused))) {
    __asm__ volatile("push {r4-r7, lr}\n\t"
                     "vpush {d8-d9}\n\t"
                     "ldr r4, [sp, #36]\n\t"
                     "ldm r4, {r4-r7}\n\t"
                     "vdup.32 q3, r6\n\t"
                     "vdup.32 q4, r7\n\t"
                     "wlstp.32 lr, r2, 2f\n"
                     "1:\n\t" MOTE_HELIUM_QUANTIZE_FOUR
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "vpop {d8-d9}\n\t"
                     "pop {r4-r7, pc}\n\t");
}

/* Where nothing underflows, and the scale is no power of two less one place, whose inverse is not good enough. */
static inline int mote_quantize_vectors(const float *in, int8_t *out, int32_t n, float scale, int32_t zero) {
    uint32_t bits;
    memcpy(&bits, &scale, 4);
    if (scale > 1e-18f && scale < 1e18f && (bits & 0x7fffff) != 0x7fffff) {
        const float terms[] = {-scale, 1.0f / scale, -512.0f * scale, 512.0f * scale};
        mote_helium_quantize(in, out, n, zero, terms);
        return 1;
    }
    return 0;
}
#define mote_quantize_vectors mote_quantize_vectors
#endif

#endif
