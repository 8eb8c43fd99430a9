/* mote_runs_f32_helium.h: mote_runs_f32.h, which includes it, with vectors: what mote_math.h computes, as precisely.
 *
 * Loops have no rest: the last vector has as many lanes as numbers are left. Results below the least normal number are
 * zero, or that number. Of comparisons, `gt` and `ge` are false where there is no number, their opposites true. */
#ifndef MOTE_RUNS_F32_HELIUM_H
#define MOTE_RUNS_F32_HELIUM_H

#include "mote_fours_f32_helium.h"

#if MOTE_HELIUM_FLOAT
/* A function of runs. `terms` are constants of all lanes in q7, q6 and q5, then r2 and r4 to r12; behind them r3 points to
 * vectors. */
#define MOTE_RUN_F32(name, text) \
    __attribute__((naked, noinline, unused)) static void mote_helium_##name( \
        const float *in __attribute__((unused)), float *out __attribute__((unused)), \
        int32_t n __attribute__((unused)), const uint32_t *terms __attribute__((unused))) { \
        __asm__ volatile("push {r4-r11, lr}\n\t" \
                         "vpush {d8-d15}\n\t" \
                         "mov lr, r2\n\t" \
                         "ldm r3!, {r4-r6}\n\t" \
                         "vdup.32 q7, r4\n\t" \
                         "vdup.32 q6, r5\n\t" \
                         "vdup.32 q5, r6\n\t" \
                         "ldm r3!, {r2, r4-r12}\n\t" \
                         "wlstp.32 lr, lr, 2f\n" \
                         "1:\n\t" text "letp lr, 1b\n" \
                         "2:\n\t" \
                         "vpop {d8-d15}\n\t" \
                         "pop {r4-r11, pc}\n\t"); \
    } \
    MOTE_UNUSED static inline int mote_##name##_run_f32(const float *in, float *out, int32_t n) { \
        mote_helium_##name(in, out, n, mote_##name##_terms); \
        return 1; \
    }

/* x = n * log(2) + rest: n in the lowest bits of q1, rest in q0, and in q3 a series of the rest: (exp(rest) - 1 - rest) /
 * rest^2. No number stays one. */
#define MOTE_HELIUM_EXP_PARTS \
    "vmul.f32 q1, q0, r2\n\t" \
    "vadd.f32 q1, q1, r4\n\t" \
    "vsub.f32 q2, q1, r4\n\t" \
    "vfma.f32 q0, q2, r5\n\t" \
    "vmov q3, q7\n\t" \
    "vfma.f32 q0, q2, r6\n\t" \
    "vshl.i32 q1, q1, #23\n\t" \
    "vfmas.f32 q3, q0, r7\n\t" \
    "vfmas.f32 q3, q0, r8\n\t" \
    "vfmas.f32 q3, q0, r9\n\t" \
    "vfmas.f32 q3, q0, r10\n\t" \
    "vfmas.f32 q3, q0, r11\n\t"
/* Its constants, q7 left out. */
#define MOTE_HELIUM_EXP_TERMS \
    0x3fb8aa3b, 0x4b400000, 0xbf318000, 0x395e8083, 0x3ab6c67c, 0x3c088938, 0x3d2aaa47, 0x3e2aaaaa, 0x3f000000, \
        0x3f800000
#define MOTE_HELIUM_EXP_LAST 0x394f8451

/* e^x of q0 in q3, where that is a normal number. */
#define MOTE_HELIUM_EXP \
    MOTE_HELIUM_EXP_PARTS \
    "vfmas.f32 q3, q0, r12\n\t" \
    "vfmas.f32 q3, q0, r12\n\t" \
    "vadd.i32 q3, q3, q1\n\t"

/* 1 / q0 in q2, for q0 > 0: from a guess, of which q6 less the bits of q0 are the bits, in two steps of order three. q1 is
 * lost; `one` is 1. */
#define MOTE_HELIUM_INVERSE(one) \
    "vdup.32 q1, " one "\n\t" \
    "vsub.i32 q2, q6, q0\n\t" \
    "vfms.f32 q1, q0, q2\n\t" \
    "vfma.f32 q1, q1, q1\n\t" \
    "vfma.f32 q2, q2, q1\n\t" \
    "vdup.32 q1, " one "\n\t" \
    "vfms.f32 q1, q0, q2\n\t" \
    "vfma.f32 q1, q1, q1\n\t" \
    "vfma.f32 q2, q2, q1\n\t"
#define MOTE_HELIUM_GUESS 0x7ef311c7

/* Beyond the ends of the exponential function, which follow in q6 and q5, are infinity and zero. */
MOTE_UNUSED static const uint32_t mote_exp_terms[] = {MOTE_HELIUM_EXP_LAST, 0x42b17218, 0xc2aeac4f, MOTE_HELIUM_EXP_TERMS};
MOTE_RUN_F32(exp, "vldrw.u32 q4, [r0], #16\n\t"
                  "vmov q0, q4\n\t" MOTE_HELIUM_EXP
                  "mov r3, #0x7f800000\n\t"
                  "vpt.f32 ge, q4, q6\n\t"
                  "vdupt.32 q3, r3\n\t"
                  "mov r3, #0\n\t"
                  "vpt.f32 gt, q5, q4\n\t"
                  "vdupt.32 q3, r3\n\t"
                  "vstrw.32 q3, [r1], #16\n\t")

/* q2 becomes 1 / (1 + e^-q4). The exponent is never positive, and not below -87: nothing overflows. */
#define MOTE_HELIUM_LOGISTIC \
    "vmov q0, q4\n\t" \
    "vorr.i32 q0, #0x80000000\n\t" \
    "vpt.f32 gt, q5, q0\n\t" \
    "vmovt q0, q5\n\t" MOTE_HELIUM_EXP \
    "vadd.f32 q0, q3, r12\n\t" MOTE_HELIUM_INVERSE("r12") \
    "vpt.f32 lt, q4, zr\n\t" \
    "vmult.f32 q2, q2, q3\n\t"
#define MOTE_HELIUM_LOGISTIC_TERMS MOTE_HELIUM_EXP_LAST, MOTE_HELIUM_GUESS, 0xc2aeac4f, MOTE_HELIUM_EXP_TERMS

MOTE_UNUSED static const uint32_t mote_logistic_terms[] = {MOTE_HELIUM_LOGISTIC_TERMS};
MOTE_RUN_F32(logistic, "vldrw.u32 q4, [r0], #16\n\t" MOTE_HELIUM_LOGISTIC "vstrw.32 q2, [r1], #16\n\t")

/* The argument of the logistic function that is nearly the probability that a normally distributed number is below x:
 * x * (1.59576912 + 0.0713548163 * x^2). */
#define MOTE_HELIUM_FOUR(bits) bits, bits, bits, bits
MOTE_UNUSED static const uint32_t mote_gelu_tanh_terms[] = {MOTE_HELIUM_LOGISTIC_TERMS, MOTE_HELIUM_FOUR(0x3fcc422a),
                                                MOTE_HELIUM_FOUR(0x3d922279)};
MOTE_RUN_F32(gelu_tanh, "vldrw.u32 q0, [r0]\n\t"
                        "vldrw.u32 q4, [r3]\n\t"
                        "vldrw.u32 q1, [r3, #16]\n\t"
                        "vmul.f32 q2, q0, q0\n\t"
                        "vfma.f32 q4, q2, q1\n\t"
                        "vmul.f32 q4, q4, q0\n\t" MOTE_HELIUM_LOGISTIC
                        "vldrw.u32 q0, [r0], #16\n\t"
                        "vmul.f32 q2, q2, q0\n\t"
                        "vstrw.32 q2, [r1], #16\n\t")

/* With y = e^(-2 * |x|) - 1 it is -y / (2 + y) with the sign of x. */
MOTE_UNUSED static const uint32_t mote_tanh_terms[] = {MOTE_HELIUM_EXP_LAST, MOTE_HELIUM_GUESS, 0xc1960000, MOTE_HELIUM_EXP_TERMS};
MOTE_RUN_F32(tanh, "vldrw.u32 q4, [r0], #16\n\t"
                   "mov r3, #0xc0000000\n\t"
                   "vabs.f32 q0, q4\n\t"
                   "vmul.f32 q0, q0, r3\n\t"
                   "vpt.f32 gt, q5, q0\n\t"
                   "vmovt q0, q5\n\t" MOTE_HELIUM_EXP_PARTS
                   "vmul.f32 q2, q0, q0\n\t"
                   "vadd.i32 q1, q1, r12\n\t"
                   "vfma.f32 q0, q2, q3\n\t"
                   "vsub.f32 q3, q1, r12\n\t"
                   "vfma.f32 q3, q1, q0\n\t"
                   "mov r3, #0x40000000\n\t"
                   "vadd.f32 q0, q3, r3\n\t" MOTE_HELIUM_INVERSE("r12")
                   "vmul.f32 q2, q2, q3\n\t"
                   "vpt.s32 ge, q4, zr\n\t"
                   "vnegt.f32 q2, q2\n\t"
                   "vstrw.32 q2, [r1], #16\n\t")

/* x times the probability that a normally distributed number is below it, which is 0.5 + x * P(x^2) / Q(x^2) within 2^-23
 * for x from -5.5 to 5.5. */
MOTE_UNUSED static const uint32_t mote_gelu_terms[] = {0x2ef5bdb7, MOTE_HELIUM_GUESS, 0x3882b0a0, 0xb2bdabae, 0x36597a91, 0x3932a07b,
                                           0x3b93c09b, 0x3d132145, 0x3ecc4225, 0x3aefee5b, 0x3cee4f0d, 0x3e836eaa,
                                           0x3f800000, MOTE_HELIUM_FOUR(0x40b00000), MOTE_HELIUM_FOUR(0xc0b00000)};
MOTE_RUN_F32(gelu, "vldrw.u32 q4, [r0]\n\t"
                   "vldrw.u32 q0, [r3]\n\t"
                   "vldrw.u32 q1, [r3, #16]\n\t"
                   "vpt.f32 gt, q4, q0\n\t"
                   "vmovt q4, q0\n\t"
                   "vpt.f32 gt, q1, q4\n\t"
                   "vmovt q4, q1\n\t"
                   "vmul.f32 q1, q4, q4\n\t"
                   "vmov q3, q7\n\t"
                   "vmov q0, q5\n\t"
                   "vfmas.f32 q3, q1, r2\n\t"
                   "vfmas.f32 q0, q1, r9\n\t"
                   "vfmas.f32 q3, q1, r4\n\t"
                   "vfmas.f32 q0, q1, r10\n\t"
                   "vfmas.f32 q3, q1, r5\n\t"
                   "vfmas.f32 q0, q1, r11\n\t"
                   "vfmas.f32 q3, q1, r6\n\t"
                   "vfmas.f32 q0, q1, r12\n\t"
                   "vfmas.f32 q3, q1, r7\n\t"
                   "vfmas.f32 q3, q1, r8\n\t" MOTE_HELIUM_INVERSE("r12")
                   "vmul.f32 q3, q3, q4\n\t"
                   "vmov.f32 q0, #0.5\n\t"
                   "vfma.f32 q0, q3, q2\n\t"
                   "vldrw.u32 q4, [r0], #16\n\t"
                   "vmul.f32 q0, q0, q4\n\t"
                   "vstrw.32 q0, [r1], #16\n\t")

/* x * (x + 3 within 0 and 6) / 6. */
MOTE_UNUSED static const uint32_t mote_hard_swish_terms[] = {0, 0x40c00000, 0, 0x40400000, 0x3e2aaaab, 0, 0, 0, 0, 0, 0, 0, 0};
MOTE_RUN_F32(hard_swish, "vldrw.u32 q0, [r0], #16\n\t"
                         "vadd.f32 q1, q0, r2\n\t"
                         "vmaxnm.f32 q1, q1, q7\n\t"
                         "vminnm.f32 q1, q1, q6\n\t"
                         "vmul.f32 q0, q0, q1\n\t"
                         "vmul.f32 q0, q0, r4\n\t"
                         "vstrw.32 q0, [r1], #16\n\t")

MOTE_UNUSED static inline int mote_clamp_run_f32(const float *in, float *out, int32_t n, float low, float high) {
    __asm__ volatile("vdup.32 q2, %[low]\n\t"
                     "vdup.32 q3, %[high]\n\t"
                     "wlstp.32 lr, %[n], 2f\n"
                     "1:\n\t"
                     "vldrw.u32 q0, [%[in]], #16\n\t" MOTE_FOUR_CLAMP
                     "vstrw.32 q0, [%[out]], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     : [in] "+&r"(in), [out] "+&r"(out)
                     : [low] "r"(low), [high] "r"(high), [n] "r"(n)
                     : "lr", "q0", "q2", "q3", "cc", "memory");
    return 1;
}

MOTE_UNUSED static inline int mote_leaky_run_f32(const float *in, float *out, int32_t n, float alpha) {
    __asm__ volatile("wlstp.32 lr, %[n], 2f\n"
                     "1:\n\t"
                     "vldrw.u32 q0, [%[in]], #16\n\t"
                     "vmul.f32 q1, q0, %[alpha]\n\t"
                     "vcmp.f32 gt, q0, zr\n\t"
                     "vpsel q0, q0, q1\n\t"
                     "vstrw.32 q0, [%[out]], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     : [in] "+&r"(in), [out] "+&r"(out)
                     : [alpha] "r"(alpha), [n] "r"(n)
                     : "lr", "q0", "q1", "cc", "memory");
    return 1;
}

#define mote_exp_run_f32 mote_exp_run_f32
#endif

#endif
