/* mote_blend_run_helium.h: mote_blend_run.h, which includes it, with vectors. */
#ifndef MOTE_BLEND_RUN_HELIUM_H
#define MOTE_BLEND_RUN_HELIUM_H

#include "mote_helium.h"

#if MOTE_HELIUM
/* Channels from r0, r3, r1 and r4 to r2; r5 and r6 are the shares of left and right, r7 and r8 those of a and b. `terms`:
 * bytes from left to right, the shares, and n. */
#define MOTE_BLEND_RUN(name, text) \
    __attribute__((naked, noinline, unused)) static void mote_helium_##name( \
        const void *a __attribute__((unused)), const void *b __attribute__((unused)), \
        void *out __attribute__((unused)), const int32_t *terms __attribute__((unused))) { \
        __asm__ volatile("push {r4-r8, lr}\n\t" \
                         "mov r12, r3\n\t" \
                         "ldm r12, {r3, r5-r8, lr}\n\t" \
                         "add r4, r1, r3\n\t" \
                         "add r3, r0, r3\n\t" \
                         "wlstp.32 lr, lr, 2f\n" \
                         "1:\n\t" text "letp lr, 1b\n" \
                         "2:\n\t" \
                         "pop {r4-r8, pc}\n\t"); \
    }

/* Shares are of 1024; halves are rounded away from zero. */
MOTE_BLEND_RUN(blend_s8, "vldrb.s32 q0, [r0], #4\n\t"
                         "vmul.i32 q0, q0, r5\n\t"
                         "vldrb.s32 q1, [r3], #4\n\t"
                         "vmla.s32 q0, q1, r6\n\t"
                         "vldrb.s32 q2, [r1], #4\n\t"
                         "vmul.i32 q2, q2, r5\n\t"
                         "vldrb.s32 q3, [r4], #4\n\t"
                         "vmla.s32 q2, q3, r6\n\t"
                         "vmul.i32 q0, q0, r7\n\t"
                         "vmla.s32 q0, q2, r8\n\t"
                         "vshr.s32 q1, q0, #31\n\t"
                         "vadd.i32 q0, q0, q1\n\t"
                         "vrshr.s32 q0, q0, #20\n\t"
                         "vstrb.32 q0, [r2], #4\n\t")

static inline int mote_blend_run_s8(const int8_t *a, const int8_t *b, int32_t right, int32_t w, int32_t weight, int8_t *out,
                                    int32_t n) {
    const int32_t terms[] = {right, 1024 - w, w, 1024 - weight, weight, n};
    mote_helium_blend_s8(a, b, out, terms);
    return 1;
}
#define mote_blend_run_s8 mote_blend_run_s8
#endif

#if MOTE_HELIUM_FLOAT
MOTE_BLEND_RUN(blend_f32, "vldrw.u32 q0, [r0], #16\n\t"
                          "vmul.f32 q0, q0, r5\n\t"
                          "vldrw.u32 q1, [r3], #16\n\t"
                          "vfma.f32 q0, q1, r6\n\t"
                          "vldrw.u32 q2, [r1], #16\n\t"
                          "vmul.f32 q2, q2, r5\n\t"
                          "vldrw.u32 q3, [r4], #16\n\t"
                          "vfma.f32 q2, q3, r6\n\t"
                          "vmul.f32 q0, q0, r7\n\t"
                          "vfma.f32 q0, q2, r8\n\t"
                          "vstrw.32 q0, [r2], #16\n\t")

static inline int mote_blend_run_f32(const float *a, const float *b, int32_t right, float w, float weight, float *out,
                                     int32_t n) {
    const float shares[] = {1.0f - w, w, 1.0f - weight, weight};
    int32_t terms[6] = {4 * right, 0, 0, 0, 0, n};
    memcpy(terms + 1, shares, sizeof shares);
    mote_helium_blend_f32(a, b, out, terms);
    return 1;
}
#define mote_blend_run_f32 mote_blend_run_f32
#endif

#endif
