/* mote_rows.h: pointers to the rows under a window, for row functions: rows first, first + spread, ..., NULL outside of
 * the image. */
#ifndef MOTE_ROWS_H
#define MOTE_ROWS_H

#include "mote_common.h"

#ifndef MOTE_PLACE
#define MOTE_PLACE uint16_t /* generated code says so where the arena is larger than 256 KB */
#endif
typedef MOTE_PLACE mote_place_t;

/* An entry of the list of places. */
#ifdef MOTE_FLASH_APART
#define mote_place(at) ((mote_place_t)mote_flash_u16(at))
#else
#define mote_place(at) (*(at))
#endif

/* Rows that lie one after another, `stride` bytes apart. */
static inline mote_any_const_t mote_strip_row(const uint8_t *strip, int32_t stride, int32_t count, int32_t row) {
    return row >= 0 && row < count ? strip + row * stride : NULL;
}

/* Rows whose places are listed, in units of four bytes. */
static inline mote_any_const_t mote_table_row(const uint8_t *arena, const mote_place_t *at, int32_t count, int32_t row) {
    return row >= 0 && row < count ? arena + 4 * (size_t)mote_place(at + row) : NULL;
}

#define MOTE_PLACED_ROWS(suffix, type) \
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
    }

MOTE_PLACED_ROWS(s8, int8_t)
MOTE_PLACED_ROWS(f32, float)

#endif
