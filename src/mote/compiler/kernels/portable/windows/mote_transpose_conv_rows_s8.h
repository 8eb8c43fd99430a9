/* mote_transpose_conv_rows_s8.h: int8 transposed convolution by kernels of ordinary convolutions.
 *
 * All output rows of a phase (see mote_transpose_conv.h) are a convolution of stride 1 with some rows of the kernel. So are
 * the pixels of a row: as many neighbouring ones as the horizontal stride, from one on that an input's first tap reaches,
 * are the channels of one pixel of that convolution, whose outputs then lie as those of the row do. Where a row begins or
 * ends in the middle of such a pixel, they are put into working memory first.
 */
#ifndef MOTE_TRANSPOSE_CONV_ROWS_S8_H
#define MOTE_TRANSPOSE_CONV_ROWS_S8_H

#include "mote_transpose_conv.h"

typedef struct {
    int32_t count;                 /* rows of outputs of all images */
    int32_t in_rows, out_rows;     /* of an image */
    int32_t in_stride, out_stride; /* bytes of a row */
    mote_spread_t rows;
    int32_t columns;               /* pixels that a convolution makes */
    int32_t made, before;          /* bytes of working memory for them, 0 if none; those before the row's first output */
} mote_phases_t;

/* The first row of inputs that reaches output row y of an image. */
static inline int32_t mote_phases_first(const mote_phases_t *p, int32_t y) {
    const int32_t at = y + p->rows.pad;
    return at / p->rows.stride - mote_spread_taps(&p->rows, at % p->rows.stride) + 1;
}

/* The rows of inputs that reach output row y of all images, NULL for those outside of the image. */
static inline void mote_phases_rows(const mote_phases_t *p, const int8_t *in, int32_t y, const int8_t **rows) {
    const int32_t image = y / p->out_rows, at = y - image * p->out_rows;
    const int32_t taps = mote_spread_taps(&p->rows, (at + p->rows.pad) % p->rows.stride);
    int32_t row = mote_phases_first(p, at);
    for (int32_t k = 0; k < taps; k++, row++) {
        rows[k] = row >= 0 && row < p->in_rows ? in + (image * p->in_rows + row) * p->in_stride : NULL;
    }
}

/* How a kernel is called for the pixels of a row, with working memory or without. */
#define MOTE_PHASE_ROW(function, working, params) mote_##function(params, rows, to working(scratch))
#define MOTE_PHASE_ROWS(function, working, params) mote_##function(params, rows, &to, 1 working(scratch))
#define MOTE_PHASE_FLAT(function, working, params) mote_##function(params, rows[0], to, p->phases.columns working(scratch))
#define MOTE_PHASE_SCRATCH(x) , x
#define MOTE_PHASE_NO_SCRATCH(x)

#define MOTE_PHASES(id, call) \
    MOTE_NOINLINE void mote_##id(const mote_##id##_t *p, const int8_t *in, int8_t *out, mote_any_t working) { \
        const mote_phases_t *const phases = &p->phases; \
        const int8_t *rows[MOTE_MAX_TAPS]; \
        int8_t *const own = (int8_t *)working; \
        const mote_any_t scratch = own + phases->made; \
        (void)scratch; \
        for (int32_t y = 0; y < phases->count; y++, out += phases->out_stride) { \
            int8_t *to = phases->made > 0 ? own : out; \
            mote_phases_rows(phases, in, y, rows); \
            call; \
            if (phases->made > 0) { \
                memcpy(out, own + phases->before, (size_t)phases->out_stride); \
            } \
        } \
    }

/* What a model instantiates: a kernel for all rows; or two, for those that a first tap reaches, and for the others. */
#define MOTE_TRANSPOSE_CONV_ROWS(id, how, of, function, working) \
    typedef struct { \
        mote_phases_t phases; \
        mote_##of##_t first; \
    } mote_##id##_t; \
    MOTE_PHASES(id, how(function, working, &p->first))

#define MOTE_TRANSPOSE_CONV_ROWS_TWO(id, how, of, function, working, second_how, second_of, second_function, \
                                     second_working) \
    typedef struct { \
        mote_phases_t phases; \
        mote_##of##_t first; \
        mote_##second_of##_t second; \
    } mote_##id##_t; \
    MOTE_PHASES(id, if ((y % phases->out_rows + phases->rows.pad) % 2 == 0) how(function, working, &p->first); \
                else second_how(second_function, second_working, &p->second))

#endif
