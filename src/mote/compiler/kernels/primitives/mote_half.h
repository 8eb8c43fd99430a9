/* mote_half.h: numbers of 16 bits (IEEE 754 binary16), as weights lie in flash. Each is a float32 as it is. */
#ifndef MOTE_HALF_H
#define MOTE_HALF_H

#include "mote_scalar.h"

#include "mote_half_vfp.h"

/* The number with these bits, which is finite. */
#ifndef mote_half
static inline float mote_half(uint16_t half) {
    const uint32_t magnitude = half & 0x7fffu;
    uint32_t bits = (uint32_t)(half & 0x8000u) << 16 | ((magnitude << 13) + ((uint32_t)112 << 23));
    float x;
    if (magnitude < 0x400u) { /* zero, or a multiple of 2^-24 without a leading one */
        x = (float)(int32_t)magnitude * 5.9604644775390625e-8f;
        return half & 0x8000u ? -x : x;
    }
    memcpy(&x, &bits, sizeof x);
    return x;
}
#endif

static inline float mote_add_half_product(float sum, float x, uint16_t half) {
    return mote_add_product_f32(sum, x, mote_half(half));
}

#endif
