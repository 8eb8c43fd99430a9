/* mote_half_vfp.h: mote_half.h, which includes it, with the conversion of an FPU. */
#ifndef MOTE_HALF_VFP_H
#define MOTE_HALF_VFP_H

#include "mote_vfp.h"

#if MOTE_VFP_HALVES
static inline float mote_half(uint16_t half) {
    const uint32_t bits = half;
    float x;
    memcpy(&x, &bits, sizeof x);
    __asm__("vcvtb.f32.f16 %0, %0" : "+t"(x));
    return x;
}
#define mote_half mote_half
#endif

#endif
