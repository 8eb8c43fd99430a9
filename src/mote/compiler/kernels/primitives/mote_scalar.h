/* mote_scalar.h: what is done with single numbers.
 *
 * A header of primitives includes those of the instruction sets that have some of them. Each defines a function and a macro
 * of the same name; here stands what the function means, in portable C, for all other cores. Some primitives have no
 * portable form: who calls them asks with #ifdef. */
#ifndef MOTE_SCALAR_H
#define MOTE_SCALAR_H

#include "mote_compiler.h"

#ifndef MOTE_FUSED
#define MOTE_FUSED 0 /* whether products of float32 are added without being rounded first; generated code sets it */
#endif

#include "mote_scalar_dsp.h"
#include "mote_scalar_thumb.h"
#include "mote_scalar_vfp.h"

/* floor((x * mult + 2^30) / 2^31): the doubled product's high half, rounded. 0 <= mult. */
#ifndef mote_high_mul
static inline int32_t mote_high_mul(int32_t x, int32_t mult) {
    return (int32_t)(((int64_t)x * mult + ((int32_t)1 << 30)) >> 31);
}
#endif

/* The same for a normalized multiplier, 2^30 <= mult. */
#ifndef mote_high_mul_normal
static inline int32_t mote_high_mul_normal(int32_t x, int32_t mult) { return mote_high_mul(x, mult); }
#endif

static inline int8_t mote_clamp(int32_t x, int32_t lo, int32_t hi) {
    return (int8_t)(x < lo ? lo : x > hi ? hi : x);
}

#ifndef mote_saturate_s8
#define mote_saturate_s8(x) mote_clamp(x, -128, 127)
#endif

#ifndef mote_saturate_s16
static inline int32_t mote_saturate_s16(int32_t x) { return x < -32768 ? -32768 : x > 32767 ? 32767 : x; }
#endif

/* sum + x * w, with the product rounded or, where generated code says that the core is quicker so, not: contraction is
 * chosen here and not left to the compiler. */
#ifndef mote_add_product_f32
static inline float mote_add_product_f32(float sum, float x, float w) { return sum + x * w; }
#endif

/* x * y, rounded: no compiler fuses it with what it is added to, so that all cores give the same bits. */
#ifndef mote_product_f32
static inline float mote_product_f32(float x, float y) {
    float product = x * y;
    MOTE_ROUNDED(product);
    return product;
}
#endif

#endif
