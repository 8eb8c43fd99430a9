/* mote_quantize_run_vfp.h: mote_quantize_run.h, which includes it, by conversions to fixed point, which saturate. */
#ifndef MOTE_QUANTIZE_RUN_VFP_H
#define MOTE_QUANTIZE_RUN_VFP_H

#include "mote_vfp.h"

#if MOTE_VFP
/* The product with the inverse rounds as the quotient does unless it is near a half: up to 256 steps it is within
 * 4 * 2^-16 of it, and a further 2^-16 is lost in fixed point. NaN is left to the division. */
static inline int mote_quantize_fixed(const float *in, int8_t *out, int32_t n, float scale, int32_t zero) {
    if (scale > 1e-18f && scale < 1e18f) {
        const float inverse = 65536.0f / scale;
        for (; n > 0; n--, in++) {
            float product = *in * inverse;
            int32_t fixed;
            uint32_t pattern;
            memcpy(&pattern, in, 4);
            __asm__("vcvt.s32.f32 %0, %0" : "+t"(product));
            memcpy(&fixed, &product, 4);
            fixed = (fixed >> 1) + (1 << 14); /* steps and a half, in units of 2^-15 */
            *out++ = ((fixed + 4) & 0x7fff) < 8 || pattern << 1 > 0xff000000u
                         ? mote_quantize_one(*in, scale, zero)
                         : mote_clamp(zero + (fixed >> 15), -128, 127);
        }
        return 1;
    }
    return 0;
}
#define mote_quantize_fixed mote_quantize_fixed
#endif

#endif
