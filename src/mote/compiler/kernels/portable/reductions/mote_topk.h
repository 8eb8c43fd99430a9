/* mote_topk.h: the largest elements of vectors, from the largest down, or where they are.
 *
 * Of equal ones the earlier comes first, and what is no number comes last. */
#ifndef MOTE_TOPK_H
#define MOTE_TOPK_H

#include "mote_common.h"

typedef struct {
    int32_t depth, k; /* elements of a vector, and how many of them are wanted */
} mote_topk_t;

#define MOTE_TOPK_LARGER(a, b) ((a) > (b))
#define MOTE_TOPK_LARGER_F32(a, b) ((a) > (b) || ((b) != (b) && (a) == (a)))

/* Each element moves up past the smaller ones that were found before it. `KEY(entry)` is the value that an entry of the
 * output stands for, `ENTRY(i)` the entry of element i. */
#define MOTE_TOPK(name, T, O, LARGER, KEY, ENTRY) \
    typedef mote_topk_t mote_##name##_t; \
    MOTE_UNUSED static inline void mote_##name(const mote_topk_t *p, const T *in, O *out, int32_t vectors) { \
        for (; vectors > 0; vectors--, in += p->depth, out += p->k) { \
            for (int32_t i = 0; i < p->depth; i++) { \
                const T value = in[i]; \
                int32_t at = mote_min(i, p->k); \
                for (; at > 0 && LARGER(value, KEY(out[at - 1])); at--) { \
                    if (at < p->k) { \
                        out[at] = out[at - 1]; \
                    } \
                } \
                if (at < p->k) { \
                    out[at] = ENTRY(i); \
                } \
            } \
        } \
    }

#define MOTE_TOPK_VALUE(entry) (entry)
#define MOTE_TOPK_VALUE_OF(i) value
#define MOTE_TOPK_AT(entry) in[entry]
#define MOTE_TOPK_INDEX(i) i
#define MOTE_TOPK_SHORT_INDEX(i) (int16_t)(i)

#endif
