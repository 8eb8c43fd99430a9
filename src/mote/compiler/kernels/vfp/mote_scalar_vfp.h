/* mote_scalar_vfp.h: mote_scalar.h on cores with an FPU. */
#ifndef MOTE_SCALAR_VFP_H
#define MOTE_SCALAR_VFP_H

#include "mote_compiler.h"

#if MOTE_FUSED && defined(__ARM_FEATURE_FMA) && defined(__GNUC__)
static inline float mote_add_product_f32(float sum, float x, float w) { return __builtin_fmaf(x, w, sum); }
#define mote_add_product_f32 mote_add_product_f32
#elif defined(__ARM_FP) && (__ARM_FP & 4) && defined(__GNUC__)
static inline float mote_add_product_f32(float sum, float x, float w) {
    float product = x * w;
    __asm__("" : MOTE_REAL(product)); /* a compiler that sees both would fuse them */
    return sum + product;
}
#define mote_add_product_f32 mote_add_product_f32
#endif

#if defined(__ARM_FP) && (__ARM_FP & 4) && defined(__GNUC__)
static inline float mote_product_f32(float x, float y) {
    float product = x * y;
    __asm__("" : MOTE_REAL(product));
    return product;
}
#define mote_product_f32 mote_product_f32
#endif

#if (defined(__aarch64__) || (defined(__ARM_FP) && (__ARM_FP & 4))) && defined(__GNUC__)
/* The square root, rounded right. */
static inline float mote_sqrtf(float x) {
    float root;
#if defined(__aarch64__)
    __asm__("fsqrt %s0, %s1" : "=w"(root) : "w"(x));
#else
    __asm__("vsqrt.f32 %0, %1" : "=t"(root) : "t"(x));
#endif
    return root;
}
#define mote_sqrtf mote_sqrtf
#endif

#endif
