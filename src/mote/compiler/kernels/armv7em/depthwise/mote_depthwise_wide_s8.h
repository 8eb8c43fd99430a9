/* mote_depthwise_wide_s8.h: int8 depthwise convolution with windows of any size over planar rows, for cores with DSP
 * instructions.
 *
 * All present rows of a window are added up before a block of outputs leaves its registers. The code of a row is
 * written out as often as there can be rows, and entered so that as many follow as there are. It depends on the shape
 * and comes from the compiler (armv7em/assembly.py); here is what surrounds it, and what it means in C.
 *
 * A record is the bias, the constants that turn a sum into a byte, then the weights of each row of the window two to a
 * word: (w0, w1), (w1, w2), .. for stride 1 and (w0, w1), (w2, w3), .. for stride 2. Weights of 8 bits are unpacked for
 * each block, and sums are scaled by 256 when they are complete; more than five of them are stored as for stride 2.
 */
#ifndef MOTE_DEPTHWISE_WIDE_S8_H
#define MOTE_DEPTHWISE_WIDE_S8_H

#include "mote_planar_s8.h"

/* Part of a row's outputs: blocks of four, or what is left. */
typedef struct {
    int32_t code, near;   /* bytes of code for a row of the window: of rows anywhere, and one behind another */
    int32_t offset, stop; /* bytes of a line where the first block begins and where it would begin behind the last */
    int32_t wide, skip;   /* bytes of outputs that blocks of four make, less one, and of a line behind them */
    int32_t out;          /* bytes of outputs before it */
} mote_wide_pass_t;

typedef struct {
    const int32_t *records;
    int32_t channels, outputs; /* outputs in a row */
    int32_t record, words;     /* words of a record, and of weights for each row */
    int32_t top;               /* rows of the window that never lie inside the image: they have no weights */
    int32_t most;              /* rows of a window that lie inside the image, at most */
    int32_t line, left;        /* bytes of a line, and columns of padding before it that it does not have */
    mote_wide_pass_t blocks, last;
    mote_window_t rows;
} mote_depthwise_wide_t;

typedef void mote_wide_row_t(const mote_depthwise_wide_t *p, const int8_t *const *rows, int8_t *out);

#define MOTE_WIDE_ROWS 7 /* of a window that can lie inside the image */

#if MOTE_DSP
/* What the assembly works on, in a copy on its stack. */
typedef struct {
    int8_t *out; /* the next output */
    int8_t *end; /* the first output of the channel behind the last one */
    const int32_t *record;
    int32_t first;  /* bytes of a record before the weights of the first row */
    int32_t behind; /* bytes of code for the rows behind the first: from there on, where it begins */
    int32_t offset, stop, wide, skip, line;
    /* The first one, then the others at the end; where they lie one behind another, in place of the first: bytes from
     * there to behind the last. */
    const int8_t *rows[MOTE_WIDE_ROWS];
} mote_wide_frame_t;

MOTE_NOINLINE void mote_wide_frame(const mote_depthwise_wide_t *p, const mote_wide_pass_t *pass, int32_t constants,
                                   int32_t near, const int8_t *const *rows, int8_t *out, mote_wide_frame_t *f) {
    const int32_t most = p->most, taps = p->rows.taps;
    int32_t first = 0, count = 1;
    while (rows[first] == NULL) {
        first++;
    }
    while (first + count < taps && rows[first + count] != NULL) {
        count++;
    }
    f->out = out + pass->out;
    f->end = f->out + p->channels;
    f->record = p->records;
    f->first = 4 * (1 + constants + (first - p->top) * p->words);
    f->behind = (count - 1) * (near ? pass->near : pass->code);
    f->offset = pass->offset + (near ? (int32_t)(intptr_t)rows[first] : 0);
    f->stop = pass->stop + (near ? (int32_t)(intptr_t)rows[first] : 0);
    f->wide = pass->wide;
    f->skip = pass->skip;
    f->line = p->line;
    f->rows[0] = near ? (const int8_t *)(intptr_t)(count * p->rows.spread * p->rows.in_stride) : rows[first];
    for (int32_t i = 1; i < count; i++) {
        f->rows[most - count + i] = rows[first + i];
    }
}

#define MOTE_WIDE_CONSTANTS_relu 2
#define MOTE_WIDE_CONSTANTS_linear 3
#define MOTE_WIDE_CODE(id, text) \
    __attribute__((naked, noinline, unused, aligned(4))) static void mote_##id( \
        const mote_wide_frame_t *frame __attribute__((unused))) { \
        __asm__ volatile(text); \
    }
#define MOTE_WIDE_PASS(id, which, form, near) \
    mote_wide_frame(p, &p->which, MOTE_WIDE_CONSTANTS_##form, near, rows, out, &frame); \
    mote_##id(&frame);
#define MOTE_WIDE_ROW_ONE(last_, taps, weights, stride, form, s) \
    mote_wide_frame_t frame; \
    MOTE_WIDE_PASS(last_, last, form, 0)
#define MOTE_WIDE_ROW_BLOCKS(blocks_, taps, weights, stride, form, s) \
    mote_wide_frame_t frame; \
    MOTE_WIDE_PASS(blocks_, blocks, form, 0)
#define MOTE_WIDE_ROW_BOTH(blocks_, last_, taps, weights, stride, form, s) \
    mote_wide_frame_t frame; \
    MOTE_WIDE_PASS(blocks_, blocks, form, 0) \
    MOTE_WIDE_PASS(last_, last, form, 0)
#define MOTE_WIDE_NEAR_ONE(last_, taps, weights, stride, form, s) \
    mote_wide_frame_t frame; \
    MOTE_WIDE_PASS(last_##_near, last, form, 1)
#define MOTE_WIDE_NEAR_BLOCKS(blocks_, taps, weights, stride, form, s) \
    mote_wide_frame_t frame; \
    MOTE_WIDE_PASS(blocks_##_near, blocks, form, 1)
#define MOTE_WIDE_NEAR_BOTH(blocks_, last_, taps, weights, stride, form, s) \
    mote_wide_frame_t frame; \
    MOTE_WIDE_PASS(blocks_##_near, blocks, form, 1) \
    MOTE_WIDE_PASS(last_##_near, last, form, 1)
#else
static inline int32_t mote_wide_weight(const int32_t *w, int32_t j, int32_t w8, int32_t step, int32_t taps) {
    return step == 1 && !(w8 && taps > 5) ? mote_planar_weight(w, j, w8) : mote_planar_half(w, j / 2, j % 2, w8);
}

static inline void mote_wide_row(const mote_depthwise_wide_t *p, const int8_t *const *rows, int8_t *out, int32_t taps,
                                 int32_t w8, int32_t step, int32_t linear, int32_t s) {
    const int32_t channels = p->channels;
    const int32_t *q = p->records;
    for (int32_t c = 0; c < channels; c++, q += p->record) {
        for (int32_t x = 0; x < p->outputs; x++) {
            int32_t sum = q[0];
            for (int32_t k = 0; k < p->rows.taps; k++) {
                for (int32_t j = 0; rows[k] != NULL && j < taps; j++) {
                    const int32_t *const w = q + 3 + linear + (k - p->top) * p->words;
                    const int32_t at = x * step + j - p->left;
                    if (at >= 0 && at < p->line) {
                        const int32_t value = mote_planar_at(rows[k] + c * p->line, at);
                        sum = mote_wrapping_add(sum, value * mote_wide_weight(w, j, w8, step, taps));
                    }
                }
            }
            out[x * channels + c] = mote_narrow(sum, q + 1, linear, s);
        }
    }
}

#define MOTE_WIDE_CODE(id, text)
#define MOTE_WIDE_ROW_ONE(last, taps, weights, stride, form, s) \
    mote_wide_row(p, rows, out, taps, mote_planar_##weights, mote_planar_##stride, mote_planar_##form, s);
#define MOTE_WIDE_ROW_BLOCKS MOTE_WIDE_ROW_ONE
#define MOTE_WIDE_ROW_BOTH(blocks, last, taps, weights, stride, form, s) \
    MOTE_WIDE_ROW_ONE(last, taps, weights, stride, form, s)
#define MOTE_WIDE_NEAR_ONE MOTE_WIDE_ROW_ONE
#define MOTE_WIDE_NEAR_BLOCKS MOTE_WIDE_ROW_ONE
#define MOTE_WIDE_NEAR_BOTH MOTE_WIDE_ROW_BOTH
#endif

/* Output rows lo..hi-1 of tensors whose rows lie one after another. */
MOTE_ALWAYS_INLINE void mote_wide_rows(const mote_depthwise_wide_t *p, const int8_t *in, int8_t *out, int32_t lo,
                                       int32_t hi, mote_wide_row_t *row) {
    const int8_t *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_s8(&p->rows, in, y, rows);
        row(p, rows, out + y * p->rows.out_stride);
    }
}

/* What a model instantiates: the code of its passes (MOTE_WIDE_CODE), and kernels of them. */
#define MOTE_WIDE_KERNEL(id, row, near) \
    typedef mote_depthwise_wide_t mote_##id##_t; \
    MOTE_NOINLINE void mote_##id##_row(const mote_depthwise_wide_t *p, const int8_t *const *rows, int8_t *out) { row } \
    MOTE_NOINLINE void mote_##id##_next(const mote_depthwise_wide_t *p, const int8_t *const *rows, int8_t *out) { near } \
    MOTE_NOINLINE void mote_##id(const mote_depthwise_wide_t *p, const int8_t *in, int8_t *out, int32_t lo, \
                                 int32_t hi) { \
        mote_wide_rows(p, in, out, lo, hi, mote_##id##_next); \
    }
#define MOTE_WIDE_ONE(id, last, taps, weights, stride, form, s) \
    MOTE_WIDE_KERNEL(id, MOTE_WIDE_ROW_ONE(last, taps, weights, stride, form, s), \
                     MOTE_WIDE_NEAR_ONE(last, taps, weights, stride, form, s))
#define MOTE_WIDE_BLOCKS(id, blocks, taps, weights, stride, form, s) \
    MOTE_WIDE_KERNEL(id, MOTE_WIDE_ROW_BLOCKS(blocks, taps, weights, stride, form, s), \
                     MOTE_WIDE_NEAR_BLOCKS(blocks, taps, weights, stride, form, s))
#define MOTE_WIDE_BOTH(id, blocks, last, taps, weights, stride, form, s) \
    MOTE_WIDE_KERNEL(id, MOTE_WIDE_ROW_BOTH(blocks, last, taps, weights, stride, form, s), \
                     MOTE_WIDE_NEAR_BOTH(blocks, last, taps, weights, stride, form, s))

#endif
