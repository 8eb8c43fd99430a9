/* mote_convert.h: from one type to another. Macros make the functions: QUANTIZE to and from float32, QUANTIZE between
 * integers, and CAST. (`mote_quantize.h` has those between float32 and int8.) */
#ifndef MOTE_CONVERT_H
#define MOTE_CONVERT_H

#include "mote_common.h"

/* A number of steps, rounded, halves away from zero, as a code from lo to hi. Adding 0.5 before truncating would round
 * differently just below a half. */
static inline int32_t mote_code_of(float steps, int32_t zero, int32_t lo, int32_t hi) {
    const float x = !(steps > -131072.0f) ? -131072.0f : steps > 131072.0f ? 131072.0f : steps; /* NaN too */
    const int32_t whole = (int32_t)x;
    const float rest = x - (float)whole;
    const int32_t code = zero + whole + (rest >= 0.5f) - (rest <= -0.5f);
    return code < lo ? lo : code > hi ? hi : code;
}

/* It must be a division: multiplying by the inverse rounds differently. */
#define MOTE_QUANTIZE(name, to, lo, hi) \
    typedef struct { \
        float scale; \
        int32_t zero; \
    } mote_##name##_t; \
    static inline void mote_##name(const mote_##name##_t *p, const float *in, to *out, int32_t n) { \
        for (; n > 0; n--) { \
            *out++ = (to)mote_code_of(*in++ / p->scale, p->zero, lo, hi); \
        } \
    }

#define MOTE_DEQUANTIZE(name, from) \
    typedef struct { \
        float scale; \
        int32_t zero; \
    } mote_##name##_t; \
    static inline void mote_##name(const mote_##name##_t *p, const from *in, float *out, int32_t n) { \
        const float scale = p->scale; \
        const int32_t zero = p->zero; \
        for (; n > 0; n--) { \
            *out++ = scale * (float)(*in++ - zero); \
        } \
    }

/* Sums with the zero points wrap, as LiteRT's. */
#define MOTE_REQUANTIZE(name, from, to) \
    typedef struct { \
        int32_t offset;      /* the input's zero point, negative */ \
        int32_t mult, shift; /* see mote_rescale */ \
        int32_t zero, lo, hi; \
    } mote_##name##_t; \
    static inline void mote_##name(const mote_##name##_t *p, const from *in, to *out, int32_t n) { \
        const int32_t offset = p->offset, mult = p->mult, shift = p->shift, zero = p->zero, lo = p->lo, hi = p->hi; \
        for (; n > 0; n--) { \
            const int32_t steps = mote_wrapping_add(*in++, offset); \
            const int32_t y = mote_wrapping_add(mote_rescale(steps, mult, shift), zero); \
            *out++ = (to)(y < lo ? lo : y > hi ? hi : y); \
        } \
    }

/* The result for x is an expression. It has no parameters, but C has no empty structs. */
#define MOTE_CAST(name, from, to, result) \
    typedef struct { \
        int32_t unused; \
    } mote_##name##_t; \
    static inline void mote_##name(const mote_##name##_t *p, const from *in, to *out, int32_t n) { \
        (void)p; \
        for (; n > 0; n--) { \
            const from x = *in++; \
            *out++ = (to)(result); \
        } \
    }

/* Integers that do not fit wrap; real numbers are given as they are. */
#define MOTE_CAST_PLAIN(name, from, to) MOTE_CAST(name, from, to, x)

#define MOTE_CAST_BOOL(name, from) MOTE_CAST(name, from, uint8_t, x != 0 ? 1 : 0)

/* A real number is rounded towards zero. From `limit` on, and where it is no number, it is the largest integer. */
#define MOTE_CAST_REAL(name, to, least, most, limit) \
    MOTE_CAST(name, float, to, x >= (float)(least) && x < (limit) ? (to)x : x < (limit) ? (to)(least) : (to)(most))

#endif
