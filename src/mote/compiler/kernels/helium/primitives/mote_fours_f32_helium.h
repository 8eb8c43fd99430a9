/* mote_fours_f32_helium.h: mote_fours_f32.h with vectors. */
#ifndef MOTE_FOURS_F32_HELIUM_H
#define MOTE_FOURS_F32_HELIUM_H

#include "mote_common.h"
#include "mote_helium.h"

#if MOTE_HELIUM_FLOAT
/* q0 within q2 and q3. Comparisons with what is no number are false, so that it stays. */
#define MOTE_FOUR_CLAMP \
    "vcmp.f32 gt, q2, q0\n\t" \
    "vpsel q0, q2, q0\n\t" \
    "vcmp.f32 gt, q0, q3\n\t" \
    "vpsel q0, q3, q0\n\t"

#define MOTE_FOURS(name, ...) \
    MOTE_ALWAYS_INLINE int32_t mote_fours_##name(const float *a, const float *b, float *out, int32_t n, float low, \
                                                 float high) { \
        const int32_t fours = n / 4; \
        __asm__ volatile( \
            "vdup.32 q2, %[low]\n\t" \
            "vdup.32 q3, %[high]\n\t" \
            "wls lr, %[fours], 2f\n\t" \
            "1:\n\t" \
            "vldrw.u32 q0, [%[a]], #16\n\t" \
            "vldrw.u32 q1, [%[b]], #16\n\t" __VA_ARGS__ MOTE_FOUR_CLAMP \
            "vstrw.32 q0, [%[out]], #16\n\t" \
            "le lr, 1b\n\t" \
            "2:\n\t" \
            : [a] "+&r"(a), [b] "+&r"(b), [out] "+&r"(out) \
            : [low] "r"(low), [high] "r"(high), [fours] "r"(fours) \
            : "lr", "q0", "q1", "q2", "q3", "cc", "memory"); \
        return 4 * fours; \
    }

MOTE_FOURS(sum, "vadd.f32 q0, q0, q1\n\t")
MOTE_FOURS(difference, "vsub.f32 q0, q0, q1\n\t")
MOTE_FOURS(product, "vmul.f32 q0, q0, q1\n\t")
#endif

#endif
