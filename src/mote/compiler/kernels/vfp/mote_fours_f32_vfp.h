/* mote_fours_f32_vfp.h: mote_fours_f32.h with four registers at once. */
#ifndef MOTE_FOURS_F32_VFP_H
#define MOTE_FOURS_F32_VFP_H

#include "mote_common.h"
#include "mote_helium.h"
#include "mote_vfp.h"

#if MOTE_VFP && !MOTE_HELIUM_FLOAT
#define MOTE_FOUR_CLAMP(x) \
    "vcmpe.f32 " x ", %[low]\n\t" \
    "vmrs APSR_nzcv, fpscr\n\t" \
    "it mi\n\t" \
    "vmovmi.f32 " x ", %[low]\n\t" \
    "vcmpe.f32 " x ", %[high]\n\t" \
    "vmrs APSR_nzcv, fpscr\n\t" \
    "it gt\n\t" \
    "vmovgt.f32 " x ", %[high]\n\t"

/* s0 to s3 within `low` and `high`, to `out`. Four floats are finite if their sum is, which is not larger than `limit` then. A
 * ReLU (`relu` is not zero) makes zeros of those whose sign is set, no activation leaves them as they are; neither needs
 * a comparison. For any other activation `limit` is negative. */
#define MOTE_FOUR_ACTIVATE \
    "vadd.f32 s28, s0, s1\n\t" \
    "vadd.f32 s29, s2, s3\n\t" \
    "vmov %[c], %[d], s0, s1\n\t" \
    "vadd.f32 s28, s28, s29\n\t" \
    "bic %[c], %[c], %[c], asr #31\n\t" \
    "vabs.f32 s28, s28\n\t" \
    "bic %[d], %[d], %[d], asr #31\n\t" \
    "vcmpe.f32 s28, %[limit]\n\t" \
    "vmrs APSR_nzcv, fpscr\n\t" \
    "bhi 7f\n\t" \
    "cbz %[relu], 8f\n\t" \
    "strd %[c], %[d], [%[out]]\n\t" \
    "vmov %[c], %[d], s2, s3\n\t" \
    "bic %[c], %[c], %[c], asr #31\n\t" \
    "bic %[d], %[d], %[d], asr #31\n\t" \
    "strd %[c], %[d], [%[out], #8]\n\t" \
    "b 9f\n\t" \
    "8:\n\t" \
    "vstmia %[out], {s0-s3}\n\t" \
    "b 9f\n\t" \
    "7:\n\t" MOTE_FOUR_CLAMP("s0") MOTE_FOUR_CLAMP("s1") MOTE_FOUR_CLAMP("s2") MOTE_FOUR_CLAMP("s3") \
    "vstmia %[out], {s0-s3}\n\t" \
    "9:\n\t"

/* The operands of that. */
#define MOTE_FOUR_MOST 3.40282347e+38f
#define MOTE_FOUR_LIMIT(low, high) \
    ((high) == MOTE_FOUR_MOST && ((low) == 0.0f || (low) == -MOTE_FOUR_MOST) ? MOTE_FOUR_MOST : -1.0f)
#define MOTE_FOUR_OPERANDS(low_, high_) \
    [low] "t"(low_), [high] "t"(high_), [limit] "t"(MOTE_FOUR_LIMIT(low_, high_)), [relu] "l"((low_) == 0.0f)
#define MOTE_FOUR_REGISTERS \
    "s0", "s1", "s2", "s3", "s16", "s17", "s18", "s19", "s24", "s25", "s26", "s27", "s28", "s29", "cc", "memory"

#define MOTE_FOURS(name, instruction) \
    MOTE_ALWAYS_INLINE int32_t mote_fours_##name(const float *a, const float *b, float *out, int32_t n, float low, \
                                                 float high) { \
        int32_t fours = n / 4, c, d; \
        if (fours > 0) { \
            __asm__ volatile("1:\n\t" \
                             "vldmia %[a]!, {s0-s3}\n\t" \
                             "vldmia %[b]!, {s16-s19}\n\t" \
                             instruction " s0, s0, s16\n\t" \
                             instruction " s1, s1, s17\n\t" \
                             instruction " s2, s2, s18\n\t" \
                             instruction " s3, s3, s19\n\t" MOTE_FOUR_ACTIVATE \
                             "add %[out], %[out], #16\n\t" \
                             "subs %[fours], %[fours], #1\n\t" \
                             "bne 1b\n\t" \
                             : [a] "+&r"(a), [b] "+&r"(b), [out] "+&r"(out), [fours] "+&r"(fours), [c] "=&r"(c), [d] "=&r"(d) \
                             : MOTE_FOUR_OPERANDS(low, high) \
                             : MOTE_FOUR_REGISTERS); \
        } \
        return n / 4 * 4; \
    }

MOTE_FOURS(sum, "vadd.f32")
MOTE_FOURS(difference, "vsub.f32")
MOTE_FOURS(product, "vmul.f32")
#endif

#endif
