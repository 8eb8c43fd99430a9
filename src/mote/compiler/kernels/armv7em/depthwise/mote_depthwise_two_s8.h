/* mote_depthwise_two_s8.h: int8 depthwise convolution with 3x3 windows over planar rows, two rows of outputs at once,
 * for cores with DSP instructions.
 *
 * Inputs under both rows are loaded once, and weights once for eight outputs. The code is made for the shape
 * (armv7em/two_rows.py); here is what surrounds it. Rows at the borders of the image, and what is left of an odd
 * number, are computed one at a time by mote_depthwise3_s8.h, from the same records.
 */
#ifndef MOTE_DEPTHWISE_TWO_S8_H
#define MOTE_DEPTHWISE_TWO_S8_H

#include "mote_depthwise3_s8.h"

/* All channels of two rows. `ways`, where rows lie anywhere: from the first row of outputs to the second, then from one
 * row of inputs to the next in the order in which they are used. */
typedef void mote_two_t(const int8_t *in, const int32_t *records, int8_t *out, int32_t channels, const int32_t *ways);

#define MOTE_TWO_WAYS 7

#if MOTE_DSP
#define MOTE_TWO_CODE(id, text) \
    __attribute__((naked, noinline, unused, aligned(4))) static void mote_##id( \
        const int8_t *in __attribute__((unused)), const int32_t *records __attribute__((unused)), \
        int8_t *out __attribute__((unused)), int32_t channels __attribute__((unused)), \
        const int32_t *ways __attribute__((unused))) { \
        __asm__ volatile(text); \
    }
#define MOTE_TWO_NEAR(id) mote_##id##_near
#define MOTE_TWO_ANYWHERE(id) mote_##id##_anywhere
#else
#define MOTE_TWO_CODE(id, text)
#define MOTE_TWO_NEAR(id) NULL
#define MOTE_TWO_ANYWHERE(id) NULL
#endif

/* Whether all rows under output rows y and y + 1 lie inside the image. */
static inline int32_t mote_two_inside(const mote_window_t *w, int32_t y) {
    int32_t image;
    const int32_t first = mote_window_first(w, y, &image);
    return first >= 0 && first + w->step + 3 <= w->in_rows;
}

/* What the code takes as records: biases apart it finds by way of the parameters. */
static inline const int32_t *mote_two_records(const mote_planar_t *p, int32_t apart) {
    return apart ? (const int32_t *)(const void *)p : p->records;
}

/* Output rows lo..hi-1 of tensors whose rows lie one after another; without `two` one by one. */
MOTE_ALWAYS_INLINE void mote_two_near(const mote_planar_t *p, const int8_t *in, int8_t *out, int32_t lo, int32_t hi,
                                      mote_planar_row_t *one, mote_two_t *two, int32_t apart) {
    const mote_window_t *const w = &p->rows;
    const int8_t *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_s8(w, in, y, rows);
        if (two != NULL && y + 1 < hi && mote_two_inside(w, y)) {
            two(rows[0], mote_two_records(p, apart), out + y * w->out_stride, p->channels, NULL);
            y++;
        } else {
            one(p, rows, out + y * w->out_stride);
        }
    }
}

static inline int32_t mote_two_way(const int8_t *from, const int8_t *to) {
    return (int32_t)((intptr_t)to - (intptr_t)from);
}

/* All ways but the first: between the rows under two rows of outputs. */
static inline void mote_two_ways(const int8_t *const *rows, int32_t step, int32_t *ways) {
    static const uint8_t order[2][MOTE_TWO_WAYS] = {{0, 1, 2, 3, 0}, {0, 2, 1, 3, 2, 4, 0}};
    for (int32_t i = 1; i < MOTE_TWO_WAYS; i++) {
        ways[i] = mote_two_way(rows[order[step - 1][i - 1]], rows[order[step - 1][i]]);
    }
}

/* One row of outputs or two, wherever they and the rows under them lie. */
MOTE_ALWAYS_INLINE void mote_two_anywhere(const mote_planar_t *p, const int8_t *const *rows, int8_t *const *outs,
                                          int32_t count, mote_planar_row_t *one, mote_two_t *two, int32_t apart) {
    const int32_t step = p->rows.step;
    if (two != NULL && count == 2 && rows[0] != NULL && rows[step + 2] != NULL) {
        int32_t ways[MOTE_TWO_WAYS];
        ways[0] = mote_two_way(outs[0], outs[1]);
        mote_two_ways(rows, step, ways);
        two(rows[0], mote_two_records(p, apart), outs[0], p->channels, ways);
    } else {
        for (int32_t i = 0; i < count; i++) {
            one(p, rows + i * step, outs[i]);
        }
    }
}

/* What a model instantiates beside the code of two rows, and the kernel of one row. */
#define MOTE_TWO(id, one) MOTE_TWO_OF(id, one, 0)
#define MOTE_TWO_APART(id, one) MOTE_TWO_OF(id, one, 1)
#define MOTE_TWO_OF(id, one, apart) \
    typedef mote_planar_t mote_##id##_t; \
    MOTE_NOINLINE void mote_##id(const mote_planar_t *p, const int8_t *in, int8_t *out, int32_t lo, int32_t hi) { \
        mote_two_near(p, in, out, lo, hi, mote_##one##_row, MOTE_TWO_NEAR(id), apart); \
    } \
    MOTE_NOINLINE void mote_##id##_rows(const mote_planar_t *p, const int8_t *const *rows, int8_t *const *outs, \
                                        int32_t count) { \
        mote_two_anywhere(p, rows, outs, count, mote_##one##_row, MOTE_TWO_ANYWHERE(id), apart); \
    }

#endif
