/* mote_line_f32_helium.h: mote_line_f32.h, which includes it, with vectors. */
#ifndef MOTE_LINE_F32_HELIUM_H
#define MOTE_LINE_F32_HELIUM_H

#include "mote_fours_f32_helium.h"

#if MOTE_HELIUM_FLOAT
/* What becomes of q1 is added to q0; y is a number. */
#define MOTE_LINE_SUMS(...) \
    __asm__ volatile("vmov.i32 q0, #0\n\t" \
                     "wls lr, %[fours], 2f\n\t" \
                     "1:\n\t" \
                     "vldrw.u32 q1, [%[x]], #16\n\t" __VA_ARGS__ "le lr, 1b\n\t" \
                     "2:\n\t" \
                     "vstrw.32 q0, [%[sums]]\n\t" \
                     : [x] "+&r"(x) \
                     : [sums] "r"(sums), [y] "r"(y), [fours] "r"(n / 4) \
                     : "lr", "q0", "q1", "cc", "memory")

static inline void mote_line_four_sums_f32(const float *x, int32_t n, float *sums) {
    const float y = 0.0f;
    MOTE_LINE_SUMS("vadd.f32 q0, q0, q1\n\t");
}
#define mote_line_four_sums_f32 mote_line_four_sums_f32

static inline void mote_line_four_squares_f32(const float *x, int32_t n, float y, float *sums) {
    MOTE_LINE_SUMS("vsub.f32 q1, q1, %[y]\n\t"
                   "vfma.f32 q0, q1, q1\n\t");
}

#define MOTE_LINE_FOURS(name, instruction) \
    static inline int32_t mote_line_##name##_f32(const float *x, float y, float *out, int32_t n, float low, float high) { \
        const int32_t fours = n / 4; \
        __asm__ volatile("vdup.32 q2, %[low]\n\t" \
                         "vdup.32 q3, %[high]\n\t" \
                         "wls lr, %[fours], 2f\n\t" \
                         "1:\n\t" \
                         "vldrw.u32 q0, [%[x]], #16\n\t" instruction " q0, q0, %[y]\n\t" MOTE_FOUR_CLAMP \
                         "vstrw.32 q0, [%[out]], #16\n\t" \
                         "le lr, 1b\n\t" \
                         "2:\n\t" \
                         : [x] "+&r"(x), [out] "+&r"(out) \
                         : [y] "r"(y), [low] "r"(low), [high] "r"(high), [fours] "r"(fours) \
                         : "lr", "q0", "q2", "q3", "cc", "memory"); \
        return 4 * fours; \
    }

MOTE_LINE_FOURS(plus, "vadd.f32")
MOTE_LINE_FOURS(times, "vmul.f32")
#endif

#endif
