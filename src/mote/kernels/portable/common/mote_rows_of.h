/* mote_rows_of.h: the functions of mote_rows.h and mote_ring.h that give pointers to rows, for elements of other types. */
#ifndef MOTE_ROWS_OF_H
#define MOTE_ROWS_OF_H

#include "mote_ring.h"
#include "mote_rows.h"

#define MOTE_ROWS_OF(suffix, type) \
    MOTE_NOINLINE void mote_strip_rows_##suffix(const uint8_t *strip, int32_t stride, int32_t count, int32_t first, \
                                                int32_t taps, int32_t spread, const type **rows) { \
        for (; taps > 0; taps--, first += spread) { \
            *rows++ = mote_strip_row(strip, stride, count, first); \
        } \
    } \
\
    MOTE_NOINLINE void mote_table_rows_##suffix(const uint8_t *arena, const mote_place_t *at, int32_t count, \
                                                int32_t first, int32_t taps, int32_t spread, const type **rows) { \
        for (; taps > 0; taps--, first += spread) { \
            *rows++ = mote_table_row(arena, at, count, first); \
        } \
    } \
\
    MOTE_NOINLINE void mote_ring_rows_##suffix(void *buffer, int32_t bytes, int32_t rows, int32_t oldest, \
                                               int32_t first, int32_t taps, int32_t spread, const type **found) { \
        for (; taps > 0; taps--, first += spread) { \
            *found++ = mote_ring_row(buffer, bytes, rows, oldest, first); \
        } \
    }

#endif
