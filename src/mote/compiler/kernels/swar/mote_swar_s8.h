/* mote_swar_s8.h: int8 convolutions with two products in one multiplication of 32 bits, for cores that multiply single
 * numbers.
 *
 * Inputs of four pixels are widened once, two to a word: of each group of four inputs the first and the third, the second
 * and the fourth. A group has eight words, {pixel 0, 1} of the first pair, of the second, then {pixel 2, 3} of both. An
 * input word a0 + a1 * 2^16 times a weight word w1 + w0 * 2^16 has a0 * w0 + a1 * w1 in its upper half; those of a group
 * are added up before that half is taken. The compiler sees to it that it fits, and lists the products that are left over
 * for each channel (pack/weights/swar.py).
 *
 * The stream has for each channel: where its sum begins, two words of weights for each group, the number of products that
 * are left over, each with the place of its inputs in bytes and a weight word, and the constants of requantization, by
 * `form` (pack/requantize/scalar.py):
 *
 *   plain     mult, add, shift              the upper half of a product of 64 bits; outputs that round in one way
 *   linear    mult, add, shift, fix         negative outputs that can be seen round in another
 *   plain32   most, coarse, fine, add, drop       products of 32 bits only
 *   linear32  most, coarse, fine, add, drop, turn, fix
 *
 * Channels that have no constants are computed once more, in C.
 */
#ifndef MOTE_SWAR_S8_H
#define MOTE_SWAR_S8_H

#include "mote_conv2d_s8.h"
#include "mote_swar.h"

/* A channel that is requantized step by step. */
typedef struct {
    int32_t channel, at, mult, shift; /* `at`: where the stream has it */
} mote_swar_again_t;

typedef struct {
    int32_t groups, channels, pixel;
    const int32_t *stream;
    int32_t slow; /* channels without constants */
    const mote_swar_again_t *again;
    mote_output_t output; /* of these */
} mote_swar_t;

/* Walks over pixels are given it as a constant, so that it is called directly. */
typedef void mote_swar_run_t(const mote_swar_frame_t *);

/* Where the words of pixel i of four are. */
static inline int32_t mote_swar_slot(int32_t i) { return (i & 2) * 2 + (i & 1); }

static inline void mote_swar_frame(const mote_swar_t *g, uint32_t *inputs, mote_swar_frame_t *f) {
    f->inputs = inputs;
    f->end = inputs + 8 * g->groups;
    f->stream = g->stream;
    f->channels = g->channels;
}

MOTE_NOINLINE void mote_swar_slowly(const mote_swar_t *g, const mote_swar_frame_t *f) {
    for (int32_t k = 0; k < g->slow; k++) {
        const mote_swar_again_t *const q = g->again + k;
        int32_t sum[4];
        mote_swar_sums(f->inputs, g->groups, g->stream + q->at, sum);
        for (int32_t i = 0; i < 4; i++) {
            f->to[i][q->channel - g->channels] = mote_requantize(sum[i], q->mult, q->shift, g->output);
        }
    }
}

/* All channels of four pixels whose inputs are widened. */
MOTE_ALWAYS_INLINE void mote_swar_four(const mote_swar_t *g, const mote_swar_frame_t *f, mote_swar_run_t *run) {
    run(f);
    if (g->slow > 0) {
        mote_swar_slowly(g, f);
    }
}

typedef struct {
    int32_t width; /* pixels of a row */
    mote_swar_t gemm;
} mote_pointwise_swar_t;

/* 1x1 windows over channels in fours: `count` rows of `width` pixels, one after another, or where `rows` and `outs` say.
 * Blocks of four pixels go on from one row to the next; the last pixel stands in for those that are missing at the end. */
MOTE_ALWAYS_INLINE void mote_pointwise_swar_walk(const mote_swar_t *g, const int8_t *in, int8_t *out,
                                                 const int8_t *const *rows, int8_t *const *outs, int32_t width,
                                                 int32_t count, uint32_t *scratch, mote_swar_run_t *run) {
    const int32_t channels = 4 * g->groups, pixel = g->pixel;
    int32_t waiting = 0;
    mote_swar_frame_t f;
    mote_swar_frame(g, scratch, &f);
    for (int32_t y = 0; y < count; y++) {
        const int8_t *from = rows != NULL ? rows[y] : in;
        int8_t *to = (outs != NULL ? outs[y] : out) + g->channels;
        int32_t left = width;
        while (left > 0) {
            if (waiting == 0 && left > 3) {
                mote_swar_spread4(from, channels, g->groups, scratch);
                for (int32_t i = 0; i < 4; i++, to += pixel) {
                    f.to[i] = to;
                }
                from += 4 * channels;
                left -= 4;
                mote_swar_four(g, &f, run);
                continue;
            }
            const int32_t last = left == 1 && y + 1 == count;
            do {
                mote_swar_spread(from, g->groups, scratch + mote_swar_slot(waiting));
                f.to[waiting++] = to;
            } while (last && waiting < 4);
            from += channels;
            to += pixel;
            left--;
            if (waiting == 4) {
                waiting = 0;
                mote_swar_four(g, &f, run);
            }
        }
    }
}

/* Any window. Scratch: the widened inputs, then a window. */
typedef struct {
    mote_patch_t patch;
    mote_swar_t gemm;
    int32_t direct; /* rows of a window inside the image are widened where they lie */
} mote_conv_swar_t;

/* The inputs of the window under output column x; `whole`: none of its rows is padding. */
MOTE_NOINLINE void mote_conv_swar_pixel(const mote_conv_swar_t *p, const int8_t *const *rows, int32_t x, int32_t whole,
                                        int8_t *window, uint32_t *to) {
    const mote_span_t *const s = &p->patch.cols;
    const int32_t first = x * s->step - s->pad, c = p->patch.in_channels, line = s->taps * c;
    if (whole && s->spread == 1 && first >= 0 && first <= s->in_size - s->taps) {
        int8_t *at = window;
        if (p->direct) {
            for (int32_t k = 0; k < p->patch.rows.taps; k++) {
                mote_swar_spread(rows[k] + first * c, line / 4, to + 2 * k * line);
            }
            return;
        }
        for (int32_t k = 0; k < p->patch.rows.taps; k++, at += line) {
            mote_swar_copy(rows[k] + first * c, line, at);
        }
    } else {
        mote_gather(&p->patch, rows, x, window);
    }
    mote_swar_spread(window, p->gemm.groups, to);
}

/* How many output columns from x on have their windows inside the image. */
static inline int32_t mote_conv_swar_inside(const mote_span_t *s, int32_t x) {
    const int32_t first = x * s->step - s->pad, room = s->in_size - s->taps - first;
    int32_t inside = 0;
    while (first >= 0 && x + inside < s->out_size && inside * s->step <= room) {
        inside++;
    }
    return inside;
}

static inline int32_t mote_conv_swar_whole(const int8_t *const *rows, int32_t taps) {
    while (taps > 0 && rows[taps - 1] != NULL) {
        taps--;
    }
    return taps == 0;
}

/* `count` output rows: the first one from `rows`, the next ones from `step` rows further on and to where `outs` says, or,
 * for a tensor in one piece, from those under row y + 1 and so on of the tensor `in`, behind one another. */
MOTE_ALWAYS_INLINE void mote_conv_swar_walk(const mote_conv_swar_t *p, const int8_t *in, const int8_t **rows,
                                            int8_t *const *outs, int32_t y, int32_t count, int8_t *out,
                                            uint32_t *scratch, mote_swar_run_t *run) {
    const mote_patch_t *const patch = &p->patch;
    const mote_swar_t *const g = &p->gemm;
    const mote_span_t *const s = &patch->cols;
    const int32_t taps = patch->rows.taps, c = patch->in_channels, line = s->taps * c, step = s->step * c;
    int8_t *const window = (int8_t *)(scratch + 8 * g->groups);
    int32_t waiting = 0;
    mote_swar_frame_t f;
    mote_swar_frame(g, scratch, &f);
    memset(window + 4 * g->groups - 4, 0, 4); /* weights of what is behind a window are zero */
    for (int32_t j = 0; j < count; j++) {
        if (j > 0 && outs == NULL) {
            mote_window_s8(&patch->rows, in, y + j, rows);
            out += patch->rows.out_stride;
        }
        int8_t *to = (outs != NULL ? outs[j] : out) + g->channels;
        const int8_t *const *const these = outs != NULL ? rows + j * patch->rows.step : rows;
        const int32_t whole = mote_conv_swar_whole(these, taps);
        int32_t inside = 0;
        for (int32_t x = 0; x < s->out_size;) {
            if (waiting == 0 && whole && p->direct && inside < 4) {
                inside = mote_conv_swar_inside(s, x);
            }
            if (waiting == 0 && inside > 3) {
                const int32_t first = x * step - s->pad * c;
                for (int32_t k = 0; k < taps; k++) {
                    mote_swar_spread4(these[k] + first, step, line / 4, scratch + 2 * k * line);
                }
                for (int32_t i = 0; i < 4; i++, to += g->pixel) {
                    f.to[i] = to;
                }
                x += 4;
                inside -= 4;
                mote_swar_four(g, &f, run);
                continue;
            }
            const int32_t last = x + 1 == s->out_size && j + 1 == count;
            do { /* the last pixel stands in for those that are missing */
                mote_conv_swar_pixel(p, these, x, whole, window, scratch + mote_swar_slot(waiting));
                f.to[waiting++] = to;
            } while (last && waiting < 4);
            to += g->pixel;
            x++;
            inside--;
            if (waiting == 4) {
                waiting = 0;
                mote_swar_four(g, &f, run);
            }
        }
    }
}

#define MOTE_POINTWISE_SWAR(form) \
    typedef mote_pointwise_swar_t mote_pointwise_swar_##form##_t; \
    MOTE_NOINLINE void mote_pointwise_swar_##form##_all(const mote_swar_t *g, const int8_t *in, int8_t *out, \
                                                        const int8_t *const *rows, int8_t *const *outs, \
                                                        int32_t width, int32_t count, uint32_t *scratch) { \
        mote_pointwise_swar_walk(g, in, out, rows, outs, width, count, scratch, mote_swar_##form); \
    } \
    MOTE_UNUSED static inline void mote_pointwise_swar_##form(const mote_pointwise_swar_t *p, const int8_t *in, \
                                                              int8_t *out, int32_t pixels, uint32_t *scratch) { \
        mote_pointwise_swar_##form##_all(&p->gemm, in, out, NULL, NULL, pixels, 1, scratch); \
    } \
    MOTE_UNUSED static inline void mote_pointwise_swar_##form##_rows(const mote_pointwise_swar_t *p, \
                                                                     const int8_t *const *rows, int8_t *const *outs, \
                                                                     int32_t count, uint32_t *scratch) { \
        mote_pointwise_swar_##form##_all(&p->gemm, NULL, NULL, rows, outs, p->width, count, scratch); \
    }

#define MOTE_CONV_SWAR(form) \
    typedef mote_conv_swar_t mote_conv_swar_##form##_t; \
    MOTE_NOINLINE void mote_conv_swar_##form##_all(const mote_conv_swar_t *p, const int8_t *in, const int8_t **rows, \
                                                   int8_t *const *outs, int32_t y, int32_t count, int8_t *out, \
                                                   uint32_t *scratch) { \
        mote_conv_swar_walk(p, in, rows, outs, y, count, out, scratch, mote_swar_##form); \
    } \
    MOTE_UNUSED static inline void mote_conv_swar_##form##_rows(const mote_conv_swar_t *p, const int8_t **rows, \
                                                                int8_t *const *outs, int32_t count, \
                                                                uint32_t *scratch) { \
        mote_conv_swar_##form##_all(p, NULL, rows, outs, 0, count, outs[0], scratch); \
    } \
    MOTE_UNUSED static inline void mote_conv_swar_##form##_row(const mote_conv_swar_t *p, const int8_t **rows, \
                                                               int8_t *out, uint32_t *scratch) { \
        mote_conv_swar_##form##_all(p, NULL, rows, NULL, 0, 1, out, scratch); \
    } \
    MOTE_UNUSED static inline void mote_conv_swar_##form(const mote_conv_swar_t *p, const int8_t *in, int8_t *out, \
                                                         int32_t lo, int32_t hi, uint32_t *scratch) { \
        const int8_t *rows[MOTE_MAX_TAPS]; \
        mote_window_s8(&p->patch.rows, in, lo, rows); \
        mote_conv_swar_##form##_all(p, in, rows, NULL, lo, hi - lo, out + lo * p->patch.rows.out_stride, scratch); \
    }

#endif
