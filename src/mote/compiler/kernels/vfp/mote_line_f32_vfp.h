/* mote_line_f32_vfp.h: mote_line_f32.h, which includes it, with four registers at once. */
#ifndef MOTE_LINE_F32_VFP_H
#define MOTE_LINE_F32_VFP_H

#include "mote_fours_f32_vfp.h"

#if MOTE_VFP && !MOTE_HELIUM_FLOAT
#if MOTE_FUSED
#define MOTE_LINE_SQUARE "vfma.f32 "
#else
#define MOTE_LINE_SQUARE "vmla.f32 "
#endif

/* What `each` makes of s4 to s7 is added to s0 to s3. */
#define MOTE_LINE_SUMS(...) \
    if (n > 0) { \
        __asm__ volatile("vldmia %[sums], {s0-s3}\n\t" \
                         "1:\n\t" \
                         "vldmia %[x]!, {s4-s7}\n\t" __VA_ARGS__ \
                         "subs %[n], %[n], #4\n\t" \
                         "bne 1b\n\t" \
                         "vstmia %[sums], {s0-s3}\n\t" \
                         : [x] "+&r"(x), [n] "+&r"(n) \
                         : [sums] "r"(sums), [y] "t"(y) \
                         : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "cc", "memory"); \
    }

static inline void mote_line_four_sums_f32(const float *x, int32_t n, float *sums) {
    const float y = 0.0f;
    memset(sums, 0, 4 * sizeof *sums);
    MOTE_LINE_SUMS("vadd.f32 s0, s0, s4\n\t"
                   "vadd.f32 s1, s1, s5\n\t"
                   "vadd.f32 s2, s2, s6\n\t"
                   "vadd.f32 s3, s3, s7\n\t")
}
#define mote_line_four_sums_f32 mote_line_four_sums_f32

static inline void mote_line_four_squares_f32(const float *x, int32_t n, float y, float *sums) {
    memset(sums, 0, 4 * sizeof *sums);
    MOTE_LINE_SUMS("vsub.f32 s4, s4, %[y]\n\t"
                   "vsub.f32 s5, s5, %[y]\n\t"
                   "vsub.f32 s6, s6, %[y]\n\t"
                   "vsub.f32 s7, s7, %[y]\n\t" MOTE_LINE_SQUARE "s0, s4, s4\n\t" MOTE_LINE_SQUARE
                   "s1, s5, s5\n\t" MOTE_LINE_SQUARE "s2, s6, s6\n\t" MOTE_LINE_SQUARE "s3, s7, s7\n\t")
}

#define MOTE_LINE_FOURS(name, instruction) \
    static inline int32_t mote_line_##name##_f32(const float *x, float y, float *out, int32_t n, float low, float high) { \
        int32_t fours = n / 4, c, d; \
        if (fours > 0) { \
            __asm__ volatile("1:\n\t" \
                             "vldmia %[x]!, {s0-s3}\n\t" instruction " s0, s0, %[y]\n\t" instruction \
                             " s1, s1, %[y]\n\t" instruction " s2, s2, %[y]\n\t" instruction \
                             " s3, s3, %[y]\n\t" MOTE_FOUR_ACTIVATE \
                             "add %[out], %[out], #16\n\t" \
                             "subs %[fours], %[fours], #1\n\t" \
                             "bne 1b\n\t" \
                             : [x] "+&r"(x), [out] "+&r"(out), [fours] "+&r"(fours), [c] "=&r"(c), [d] "=&r"(d) \
                             : [y] "t"(y), MOTE_FOUR_OPERANDS(low, high) \
                             : MOTE_FOUR_REGISTERS); \
        } \
        return n / 4 * 4; \
    }

MOTE_LINE_FOURS(plus, "vadd.f32")
MOTE_LINE_FOURS(times, "vmul.f32")
#endif

#endif
