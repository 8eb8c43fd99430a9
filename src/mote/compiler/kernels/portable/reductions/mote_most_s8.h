/* mote_most_s8.h: the largest of int8 values along axes that lie next to one another, of four neighbours at a time. */
#ifndef MOTE_MOST_S8_H
#define MOTE_MOST_S8_H

#include "mote_line_s8.h"
#include "mote_pool_s8.h"
#include "mote_running_sums.h"

/* `count` values for each result, `inner` results side by side; a row has `lines` of them. */
typedef struct {
    int32_t count, inner, lines;
} mote_most_s8_t;

typedef mote_most_s8_t mote_most_add_s8_t;

/* The largest of `inner` results and of what becomes part of each. */
static inline void mote_most_line_s8(const int8_t *in, int32_t count, int32_t inner, int8_t *most) {
    int32_t c = inner;
    if (inner == 1) {
        *most = mote_clamp(mote_line_max(in, count), *most, 127);
        return;
    }
#ifdef mote_max_16
    for (; c > 15; c -= 16, in += 16, most += 16) {
        mote_max_16(in, inner, count, most);
    }
#endif
#ifdef mote_max_4
    for (; c > 3; c -= 4, in += 4, most += 4) {
        const uint32_t four = mote_max_4(in, inner, count, mote_load4(most));
        memcpy(most, &four, 4);
    }
#endif
    for (; c > 0; c--, in++, most++) {
        *most = (int8_t)mote_max_1(in, inner, count, *most);
    }
}

static inline void mote_most_s8(const mote_most_s8_t *p, const int8_t *in, int8_t *out, int32_t units) {
    const int32_t count = p->count, inner = p->inner;
    memset(out, -128, (size_t)(units * inner));
    for (; units > 0; units--, in += count * inner, out += inner) {
        mote_most_line_s8(in, count, inner, out);
    }
}

/* One row of the input at a time. The results so far take no more memory than the output. */
static inline void mote_most_add_s8(const mote_most_s8_t *p, const int8_t *row, int32_t tap, int32_t part, int8_t *most,
                                    int8_t *out) {
    const int32_t count = p->count, inner = p->inner;
    const size_t size = (size_t)(p->lines * inner);
    (void)tap;
    if (part & MOTE_FIRST) {
        memset(most, -128, size);
    }
    for (int32_t i = 0; i < p->lines; i++) {
        mote_most_line_s8(row + i * count * inner, count, inner, most + i * inner);
    }
    if (part & MOTE_LAST) {
        memmove(out, most, size);
    }
}

#endif
