/* mote_quantize_even.h: QUANTIZE from float32 with halves to even. */
#ifndef MOTE_QUANTIZE_EVEN_H
#define MOTE_QUANTIZE_EVEN_H

#include "mote_even_real.h"

/* Either by a division or by a multiplication, as the runtime that is followed: they round differently. */
#define MOTE_QUANTIZE_EVEN(name, to, lo, hi, by) \
    typedef struct { \
        float scale; \
        int32_t zero; \
    } mote_##name##_t; \
    static inline void mote_##name(const mote_##name##_t *p, const float *in, to *out, int32_t n) { \
        const float scale = p->scale; \
        const int32_t zero = p->zero; \
        for (; n > 0; n--) { \
            const int32_t code = zero + mote_round_even(*in++ by scale, 131072.0f); \
            *out++ = (to)(code < (lo) ? (lo) : code > (hi) ? (hi) : code); \
        } \
    }

#endif
