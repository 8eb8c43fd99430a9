/* mote_offset_part.h: weights that are a byte and an offset that all of them share. A sum of products with them is that
 * with the bytes, and the offset times the sum of the inputs. */
#ifndef MOTE_OFFSET_PART_H
#define MOTE_OFFSET_PART_H

#include "mote_common.h"

/* What the offset adds to the sums of these inputs, wrapped where a sum of the model might not fit. */
static inline int32_t mote_offset_part(const int8_t *x, int32_t depth, int32_t offset) {
    int32_t sum = 0;
    for (; depth > 0; depth--) {
        sum += *x++;
    }
#if MOTE_SUMS_WRAP
    return (int32_t)((uint32_t)sum * (uint32_t)offset);
#else
    return sum * offset;
#endif
}

#endif
