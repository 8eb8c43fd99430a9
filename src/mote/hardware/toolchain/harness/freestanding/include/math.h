/* The part of <math.h> that kernels of users may call, for compilers without a C library (zig); Mote's own call none.
 * compiler-rt implements it; it has no tanhf, powf or erff. */
#ifndef MOTE_FREESTANDING_MATH_H
#define MOTE_FREESTANDING_MATH_H

#define HUGE_VALF __builtin_huge_valf()
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)

float ceilf(float);
float cosf(float);
float exp2f(float);
float expf(float);
float fabsf(float);
float floorf(float);
float fmaf(float, float, float);
float fmaxf(float, float);
float fminf(float, float);
float fmodf(float, float);
float log10f(float);
float log2f(float);
float logf(float);
float roundf(float);
float sinf(float);
float sqrtf(float);
float tanf(float);
float truncf(float);

static inline long lroundf(float x)
{
    return (long)roundf(x);
}

#endif
