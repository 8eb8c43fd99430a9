/* mote_lines.h: what is computed of each line of a tensor by itself, by other kernels, one after another. */
#ifndef MOTE_LINES_H
#define MOTE_LINES_H

#include "mote_common.h"

/* `fields` are the parameters of the kernels, `steps` their calls for one line of `size` elements. What lies between
 * them is in `work`. */
#define MOTE_LINES(name, type, size, fields, steps) \
    typedef struct { \
        fields; \
    } mote_##name##_t; \
    static inline void mote_##name(const mote_##name##_t *p, const type *in, type *out, int32_t n, void *scratch) { \
        type *const work = (type *)scratch; \
        for (; n > 0; n--, in += (size), out += (size)) { \
            steps; \
        } \
    }

#endif
