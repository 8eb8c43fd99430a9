/* mote_ring.h: the last rows of a stream in a ring buffer. Rows never move: new ones are written over the oldest, and
 * `oldest` counts on. */
#ifndef MOTE_RING_H
#define MOTE_RING_H

#include "mote_common.h"

typedef struct {
    int32_t rows;  /* in the buffer */
    int32_t fresh; /* rows that come at once */
    int32_t bytes; /* of a row */
} mote_ring_t;

/* Where row `row` lies of a buffer with `rows` rows, of which number `oldest` comes first. */
static inline mote_any_t mote_ring_row(void *buffer, int32_t bytes, int32_t rows, int32_t oldest, int32_t row) {
    const int32_t at = oldest + row;
    return (uint8_t *)buffer + (at >= rows ? at - rows : at) * bytes;
}

/* Pointers to the rows under a window: rows first, first + spread, ... */
#define MOTE_RING_ROWS(suffix, type) \
    MOTE_NOINLINE void mote_ring_rows_##suffix(void *buffer, int32_t bytes, int32_t rows, int32_t oldest, \
                                               int32_t first, int32_t taps, int32_t spread, const type **found) { \
        for (; taps > 0; taps--, first += spread) { \
            *found++ = mote_ring_row(buffer, bytes, rows, oldest, first); \
        } \
    }

MOTE_RING_ROWS(s8, int8_t)
MOTE_RING_ROWS(f32, float)

MOTE_NOINLINE void mote_ring(const mote_ring_t *p, const void *in, void *buffer, uint16_t *oldest) {
    const uint8_t *from = (const uint8_t *)in;
    int32_t at = *oldest;
    for (int32_t i = 0; i < p->fresh; i++, from += p->bytes) {
        memcpy((uint8_t *)buffer + at * p->bytes, from, (size_t)p->bytes);
        at = at + 1 < p->rows ? at + 1 : 0;
    }
    *oldest = (uint16_t)at;
}

#endif
