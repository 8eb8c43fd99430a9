/* mote_cumprod.h: running products along an axis. Those of integers wrap. The output may be the input. */
#ifndef MOTE_CUMPROD_H
#define MOTE_CUMPROD_H

#include "mote_cumsum.h"

/* Lines as of mote_cumsum. `T` is the type of the elements, `A` that of the products. */
#define MOTE_CUMPROD(name, T, A) \
    typedef mote_cumsum_t mote_##name##_t; \
    MOTE_UNUSED static inline void mote_##name(const mote_cumsum_t *p, const T *in, T *out, int32_t units) { \
        const int32_t count = p->count, inner = p->inner; \
        const int32_t begin = p->reverse ? (count - 1) * inner : 0, step = p->reverse ? -inner : inner; \
        for (; units > 0; units--, in += (count - 1) * inner, out += (count - 1) * inner) { \
            for (int32_t c = 0; c < inner; c++, in++, out++) { \
                A product = 1; \
                for (int32_t n = 0, i = begin; n < count; n++, i += step) { \
                    const A before = product; \
                    product *= (A)in[i]; \
                    out[i] = (T)(p->exclusive ? before : product); \
                } \
            } \
        } \
    }

#endif
