/* mote_cumsum.h: running sums along an axis. Those of integers wrap. The output may be the input. */
#ifndef MOTE_CUMSUM_H
#define MOTE_CUMSUM_H

#include "mote_common.h"

/* Lines of `count` elements, `inner` of them side by side; summed up from the end where `reverse` is 1. A sum has the
 * element at its place in it unless `exclusive` is 1. */
typedef struct {
    int32_t count, inner, exclusive, reverse;
} mote_cumsum_t;

/* What `begin` becomes as the elements of type `T` are taken in by `with` (+ or *), in type `A`. */
#define MOTE_RUNNING(name, T, A, begin, with) \
    typedef mote_cumsum_t mote_##name##_t; \
    MOTE_UNUSED static inline void mote_##name(const mote_cumsum_t *p, const T *in, T *out, int32_t units) { \
        const int32_t count = p->count, inner = p->inner; \
        const int32_t first = p->reverse ? (count - 1) * inner : 0, step = p->reverse ? -inner : inner; \
        for (; units > 0; units--, in += (count - 1) * inner, out += (count - 1) * inner) { \
            for (int32_t c = 0; c < inner; c++, in++, out++) { \
                A total = begin; \
                for (int32_t n = 0, i = first; n < count; n++, i += step) { \
                    const A before = total; \
                    total = (A)(total with (A)in[i]); \
                    out[i] = (T)(p->exclusive ? before : total); \
                } \
            } \
        } \
    }

#define MOTE_CUMSUM(name, T, A) MOTE_RUNNING(name, T, A, 0, +)

#endif
