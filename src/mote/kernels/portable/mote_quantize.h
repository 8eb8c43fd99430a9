/* mote_quantize.h: between float32 and int8. */
#ifndef MOTE_QUANTIZE_H
#define MOTE_QUANTIZE_H

#include "mote_common.h"
#include "mote_helium_elements.h"

typedef struct {
    float scale;
    int32_t zero;
} mote_quantize_f32_s8_t;
typedef mote_quantize_f32_s8_t mote_dequantize_s8_f32_t;

/* Cores that convert to fixed point, which saturates. */
#if defined(__ARM_FP) && (__ARM_FP & 4) && defined(__thumb2__) && defined(__GNUC__) && !defined(MOTE_PORTABLE)
#define MOTE_FIXED_POINT 1
#else
#define MOTE_FIXED_POINT 0
#endif

/* round(x / scale), halves away from zero. It must be a division: multiplying by the inverse rounds
 * differently. Adding 0.5 before truncating would too, just below a half. */
static inline int8_t mote_quantize_one(float in, float scale, int32_t zero) {
    const float steps = in / scale;
    const float x = !(steps > -256.0f) ? -256.0f : steps > 256.0f ? 256.0f : steps; /* NaN too */
    const int32_t whole = (int32_t)x;
    const float rest = x - (float)whole;
    return mote_clamp(zero + whole + (rest >= 0.5f) - (rest <= -0.5f), -128, 127);
}

/* The product with the inverse rounds as the quotient does unless it is near a half: up to 256 steps it is within
 * 4 * 2^-16 of it, and a further 2^-16 is lost in fixed point. NaN is left to the division. */
static inline void mote_quantize_f32_s8(const mote_quantize_f32_s8_t *p, const float *in, int8_t *out, int32_t n) {
    const float scale = p->scale;
    const int32_t zero = p->zero;
#if MOTE_HELIUM_FLOAT
    uint32_t bits;
    memcpy(&bits, &scale, 4);
    /* Where nothing underflows, and the scale is no power of two less one place, whose inverse is not good enough. */
    if (scale > 1e-18f && scale < 1e18f && (bits & 0x7fffff) != 0x7fffff) {
        const float terms[] = {-scale, 1.0f / scale, -512.0f * scale, 512.0f * scale};
        mote_helium_quantize(in, out, n, zero, terms);
        return;
    }
#endif
#if MOTE_FIXED_POINT
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
        return;
    }
#endif
    for (; n > 0; n--) {
        *out++ = mote_quantize_one(*in++, scale, zero);
    }
}

static inline void mote_dequantize_s8_f32(const mote_dequantize_s8_f32_t *p, const int8_t *in, float *out, int32_t n) {
    const float scale = p->scale;
    const int32_t zero = p->zero;
    for (; n > 0; n--) {
        *out++ = scale * (float)(*in++ - zero);
    }
}

#endif
