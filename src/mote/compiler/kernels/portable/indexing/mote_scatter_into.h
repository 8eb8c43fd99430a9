/* mote_scatter_into.h: a tensor, combined with others at places that indices name. What lies outside is left out. */
#ifndef MOTE_SCATTER_INTO_H
#define MOTE_SCATTER_INTO_H

#include "mote_index.h"

typedef struct {
    int32_t bytes; /* of the tensor */
    int32_t count, depth;
    int32_t run; /* elements of a part */
    int32_t index_width;
    const mote_indexed_t *axis;
} mote_scatter_into_t;

/* For elements of one type, wherever they lie: memory is aligned to words of 32 bits. `combined` is an expression of x,
 * what is there, and y, what comes; a and b are the same as `word`, in which sums wrap. */
#define MOTE_SCATTER_INTO(name, type, word, combined) \
    typedef mote_scatter_into_t mote_##name##_t; \
    MOTE_UNUSED static inline void mote_##name(const mote_scatter_into_t *p, const void *in, const void *parts, \
                                               const void *indices, void *out) { \
        const int8_t *from = (const int8_t *)parts; \
        if (in != out) { \
            memcpy(out, in, (size_t)p->bytes); \
        } \
        for (int32_t i = 0; i < p->count; i++, from += p->run * (int32_t)sizeof(type)) { \
            const int32_t at = mote_index_tuple(p->axis, p->depth, indices, p->index_width, i); \
            for (int32_t k = 0; at >= 0 && k < p->run; k++) { \
                int8_t *const to = (int8_t *)out + at + k * (int32_t)sizeof(type); \
                type x, y; \
                memcpy(&x, to, sizeof(type)); \
                memcpy(&y, from + k * (int32_t)sizeof(type), sizeof(type)); \
                const word a = (word)x, b = (word)y; \
                (void)a, (void)b; \
                x = (type)(combined); \
                memcpy(to, &x, sizeof(type)); \
            } \
        } \
    }

#endif
