/* mote_index.h: indices that are computed at run time, of 16, 32 or 64 bits. */
#ifndef MOTE_INDEX_H
#define MOTE_INDEX_H

#include "mote_common.h"

/* Index i of those at `from`, `width` bytes each, as a number of 32 bits: what does not fit becomes the nearest one that
 * does. */
static inline int32_t mote_index(const void *from, int32_t width, int32_t i) {
    const int8_t *at = (const int8_t *)from + i * width;
    if (width == 4) {
        int32_t index;
        memcpy(&index, at, 4);
        return index;
    }
    if (width == 2) {
        int16_t index;
        memcpy(&index, at, 2);
        return index;
    }
    int64_t index;
    memcpy(&index, at, 8);
    return index < INT32_MIN ? INT32_MIN : index > INT32_MAX ? INT32_MAX : (int32_t)index;
}

/* The same of which only the low 32 bits count. */
static inline int32_t mote_index_low(const void *from, int32_t width, int32_t i) {
    if (width == 8) {
        uint64_t index;
        memcpy(&index, (const int8_t *)from + i * 8, 8);
        return (int32_t)(uint32_t)index;
    }
    return mote_index(from, width, i);
}

/* An axis that indices count: how many elements it has, and the bytes from one to the next. */
typedef struct {
    int32_t size, step;
} mote_indexed_t;

/* How many bytes into a tensor the tuple of indices number `i` leads, -1 where one of them is outside. */
static inline int32_t mote_index_tuple(const mote_indexed_t *axis, int32_t depth, const void *indices, int32_t width,
                                       int32_t i) {
    int32_t at = 0;
    for (int32_t d = 0; d < depth; d++) {
        const int32_t index = mote_index(indices, width, i * depth + d);
        if (index < 0 || index >= axis[d].size) {
            return -1;
        }
        at += index * axis[d].step;
    }
    return at;
}

/* An axis of a box that begins where an index says: number `index` of them, between 0 and `last`; below zero it counts
 * from the end of `wrap` elements, if any. */
typedef struct {
    int32_t index, last, wrap, step;
} mote_begin_t;

/* How many bytes into a tensor the begin of a box leads. A box that would reach outside is moved inside. */
static inline int32_t mote_begin(const mote_begin_t *begin, int32_t axes, const void *indices, int32_t width) {
    int32_t at = 0;
    for (int32_t a = 0; a < axes; a++) {
        int32_t index = mote_index(indices, width, begin[a].index);
        if (index < 0) {
            index += begin[a].wrap;
        }
        at += (index < 0 ? 0 : index > begin[a].last ? begin[a].last : index) * begin[a].step;
    }
    return at;
}

#endif
