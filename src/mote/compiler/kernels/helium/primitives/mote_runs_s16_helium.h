/* mote_runs_s16_helium.h: mote_runs_s16.h, which includes it, with vectors. Loops have no rest: the last vector has as many
 * lanes as numbers are left. */
#ifndef MOTE_RUNS_S16_HELIUM_H
#define MOTE_RUNS_S16_HELIUM_H

#include "mote_helium.h"

#if MOTE_HELIUM
/* mote_interpolate_s16: the slope times the lowest seven bits, rounded, as a doubled product with 256 times those. */
MOTE_UNUSED static inline int mote_lut_run_s16(const int16_t *ends, const int16_t *in, int16_t *out, int32_t n) {
    __asm__ volatile("mov r12, #256\n\t"
                     "wlstp.16 lr, %[n], 2f\n"
                     "1:\n\t"
                     "vldrh.u16 q0, [%[in]], #16\n\t"
                     "vshr.s16 q1, q0, #7\n\t"
                     "vadd.i16 q1, q1, r12\n\t"
                     "vldrh.u16 q2, [%[ends], q1, uxtw #1]\n\t"
                     "vshl.i16 q0, q0, #9\n\t"
                     "vldrh.u16 q3, [%[next], q1, uxtw #1]\n\t"
                     "vshr.u16 q0, q0, #1\n\t"
                     "vsub.i16 q3, q3, q2\n\t"
                     "vqrdmulh.s16 q0, q3, q0\n\t"
                     "vadd.i16 q0, q0, q2\n\t"
                     "vstrh.16 q0, [%[out]], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     : [in] "+&r"(in), [out] "+&r"(out)
                     : [ends] "r"(ends), [next] "r"(ends + 1), [n] "r"(n)
                     : "lr", "r12", "q0", "q1", "q2", "q3", "cc", "memory");
    return 1;
}
#define mote_lut_run_s16 mote_lut_run_s16

/* Of inputs in q0: how far the curve is above its middle, without the sign. Products of even and odd lanes are shifted
 * right by -r5; their absolute values have the place in the table, in q1, and 16 bits of the way to the next one, in q2.
 * q5 is the factor, q6 254, r6 what lies behind the table. */
#define MOTE_HELIUM_SIGMOIDS(places, way, between) \
    "vmullb.s16 q1, q0, q5\n\t" \
    "vmullt.s16 q2, q0, q5\n\t" \
    "vrshl.s32 q1, r5\n\t" \
    "vrshl.s32 q2, r5\n\t" \
    "vabs.s32 q1, q1\n\t" \
    "vabs.s32 q2, q2\n\t" \
    "vshr.u32 q3, q1, #" places "\n\t" \
    "vshl.i32 q1, q1, #" way "\n\t" \
    "vshr.u32 q4, q2, #" places "\n\t" \
    "vshl.i32 q2, q2, #" way "\n\t" \
    "vqmovnb.u32 q3, q3\n\t" \
    "vmovnb.i32 q1, q1\n\t" \
    "vqmovnt.u32 q3, q4\n\t" \
    "vmovnt.i32 q1, q2\n\t" \
    "vmin.u16 q7, q3, q6\n\t" \
    "vldrh.u16 q2, [r4, q7, uxtw #1]\n\t" \
    "vldrh.u16 q4, [r3, q7, uxtw #1]\n\t" \
    "vsub.i16 q2, q2, q4\n\t" between "vpt.u16 hi, q3, q6\n\t" \
    "vdupt.16 q1, r6\n\t" \
    "vpt.s16 lt, q0, zr\n\t" \
    "vnegt.s16 q1, q1\n\t" \
    "vadd.i16 q1, q1, r7\n\t"

/* Lanes of a last vector are half as wide as those of its products: only loads and stores are of as many as are left. */
#define MOTE_HELIUM_SIGMOID(name, places, way, between) \
    __attribute__((naked, noinline, unused)) static void mote_helium_##name( \
        const int16_t *in __attribute__((unused)), int16_t *out __attribute__((unused)), \
        int32_t n __attribute__((unused)), const int32_t *terms __attribute__((unused))) { \
        __asm__ volatile("push {r4-r7, lr}\n\t" \
                         "vpush {d8-d15}\n\t" \
                         "ldm r3, {r3-r7}\n\t" \
                         "vdup.16 q5, r4\n\t" \
                         "mov r4, #254\n\t" \
                         "vdup.16 q6, r4\n\t" \
                         "add r4, r3, #2\n\t" \
                         "lsr r12, r2, #3\n\t" \
                         "wls lr, r12, 2f\n" \
                         "1:\n\t" \
                         "vldrh.u16 q0, [r0], #16\n\t" MOTE_HELIUM_SIGMOIDS(places, way, between) \
                         "vstrh.16 q1, [r1], #16\n\t" \
                         "le lr, 1b\n" \
                         "2:\n\t" \
                         "ands r2, r2, #7\n\t" \
                         "beq 3f\n\t" \
                         "vctp.16 r2\n\t" \
                         "vpst\n\t" \
                         "vldrht.u16 q0, [r0]\n\t" MOTE_HELIUM_SIGMOIDS(places, way, between) \
                         "vctp.16 r2\n\t" \
                         "vpst\n\t" \
                         "vstrht.16 q1, [r1]\n" \
                         "3:\n\t" \
                         "vpop {d8-d15}\n\t" \
                         "pop {r4-r7, pc}\n\t"); \
    } \
    MOTE_UNUSED static inline int mote_##name##_run_s16(const int16_t *table, int32_t mult, int32_t shift, \
                                                        int32_t round, const int16_t *in, int16_t *out, int32_t n) { \
        const int32_t terms[] = {(int32_t)(intptr_t)table, mult, -shift, mote_##name##_most, mote_##name##_middle}; \
        if (mult < 0 || mult > 32767 || round != (int32_t)1 << shift >> 1) { \
            return 0; \
        } \
        mote_helium_##name(in, out, n, terms); \
        return 1; \
    }

enum { mote_sigmoid_most = 16383, mote_sigmoid_middle = 16384, mote_sigmoid_tanh_most = 32767, mote_sigmoid_tanh_middle = 0 };

MOTE_HELIUM_SIGMOID(sigmoid, "9", "7",
                    "vmulh.u16 q1, q1, q2\n\t"
                    "vrhadd.u16 q1, q1, q4\n\t")
MOTE_HELIUM_SIGMOID(sigmoid_tanh, "8", "8",
                    "vrmulh.u16 q1, q1, q2\n\t"
                    "vadd.i16 q1, q1, q4\n\t")
#endif

#endif
