/* mote_segment_sum.h: sums of neighbours along the first axis. Those of integers wrap. */
#ifndef MOTE_SEGMENT_SUM_H
#define MOTE_SEGMENT_SUM_H

#include "mote_common.h"

typedef struct {
    int32_t segments, inner; /* `inner` elements of the first axis lie side by side */
    const int32_t *length;   /* how many of the first axis each segment has */
} mote_segment_sum_t;

/* `T` is the type of the elements, `A` that of the sums. */
#define MOTE_SEGMENT_SUM(name, T, A) \
    typedef mote_segment_sum_t mote_##name##_t; \
    MOTE_UNUSED static inline void mote_##name(const mote_segment_sum_t *p, const T *in, T *out) { \
        for (int32_t s = 0; s < p->segments; s++, in += (p->length[s - 1] - 1) * p->inner) { \
            for (int32_t c = 0; c < p->inner; c++, in++) { \
                A sum = 0; \
                for (int32_t n = 0; n < p->length[s]; n++) { \
                    sum += (A)in[n * p->inner]; \
                } \
                *out++ = (T)sum; \
            } \
        } \
    }

#endif
