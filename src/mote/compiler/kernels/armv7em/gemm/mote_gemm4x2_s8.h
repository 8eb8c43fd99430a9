/* mote_gemm4x2_s8.h: int8 convolutions four pixels and two channels at a time, for cores with DSP instructions.
 *
 * The weights and constants are those of mote_gemm3_s8.h, `wide` or `pair`, and inputs are widened as there, but
 * [depth / 2][4 pixels] words: each weight is read for four pixels. The code comes from the compiler, written for a
 * layer (armv7em/gemm_assembly.py); here is what surrounds it, and what it means in C. A call computes all channels of
 * several blocks of four pixels, the next four of a row one after another. Code that layers share takes the length of
 * sums and the places of outputs from their `mote_gemm3_t` (armv7em/gemm_shared_assembly.py), and inputs from a routine
 * that widens them, unless they are widened already; it may change the pointers of the frame.
 *
 * A row's pixels that are left behind its last four wait for those of the rows below, until there are four. Channels
 * are even in number.
 */
#ifndef MOTE_GEMM4X2_S8_H
#define MOTE_GEMM4X2_S8_H

#include "mote_gemm3_s8.h"

#if MOTE_MAX_TAPS > 4
#define MOTE_GEMM4X2_FROM MOTE_MAX_TAPS
#else
#define MOTE_GEMM4X2_FROM 4
#endif

/* What the assembly works on, in a copy on its stack. */
typedef struct {
    uint32_t *inputs; /* for the widened inputs of four pixels, or with those of all blocks */
    const int32_t *stream;
    int32_t span;     /* bytes from a pixel's first output to behind its last */
    int8_t *to[4];    /* the first outputs of four pixels */
    int32_t out_step; /* from a block's outputs to those of the next one */
    int32_t blocks;
    int32_t stride; /* from a pixel's inputs to those of the next one */
    /* Pointwise: each pixel's inputs; else the lines of the first one's window. */
    const int8_t *from[MOTE_GEMM4X2_FROM];
} mote_gemm4x2_frame_t;

typedef void mote_gemm4x2_blocks_t(const mote_gemm4x2_frame_t *);

#if MOTE_DSP
#define MOTE_GEMM4X2_CODE(id, weights, out, s, line, taps, words, rest, text) \
    __attribute__((naked, noinline, unused, aligned(4))) static void mote_gemm4x2_##id( \
        const mote_gemm4x2_frame_t *frame __attribute__((unused))) { \
        __asm__ volatile(text); \
    }
/* With biases that lie apart from weights, so many bytes behind the widened inputs. */
#define MOTE_GEMM4X2_APART_CODE(id, weights, out, s, line, taps, words, rest, apart, text) \
    MOTE_GEMM4X2_CODE(id, weights, out, s, line, taps, words, rest, text)
typedef void mote_gemm4x2_widening_t(void);
#define MOTE_GEMM4X2_ANY_CODE(id, weights, out, s, text) \
    __attribute__((naked, noinline, unused, aligned(4))) static void mote_gemm4x2_##id( \
        const mote_gemm4x2_frame_t *frame __attribute__((unused)), const mote_gemm3_t *gemm __attribute__((unused)), \
        mote_gemm4x2_widening_t *widening __attribute__((unused))) { \
        __asm__ volatile(text); \
    }
/* Called by such code only: it works on its stack. */
#define MOTE_GEMM4X2_WIDENING(taps, text) \
    __attribute__((naked, noinline, unused)) static void mote_gemm4x2_widening_##taps(void) { __asm__ volatile(text); }
#define MOTE_GEMM4X2_WIDENED NULL
#else
/* The inputs of pixel i of block b: the words of each line of its window, then the bytes that are left of each. */
static inline void mote_gemm4x2_widen(const mote_gemm4x2_frame_t *f, int32_t taps, int32_t words, int32_t rest,
                                      int32_t b, int32_t i) {
    const int32_t lines = taps > 0 ? taps : 1, half = lines * words * 8;
    int32_t left = 0;
    for (int32_t k = 0; k < lines; k++) {
        const int8_t *const from = taps == 0 && b == 0 ? f->from[i] : f->from[k] + (4 * b + i) * f->stride;
        for (int32_t j = 0; j < 4 * words; j += 4) {
            uint32_t *const to = f->inputs + 2 * (k * 4 * words + j) + i;
            to[0] = (uint32_t)(uint16_t)from[j] | (uint32_t)(uint16_t)from[j + 2] << 16;
            to[4] = (uint32_t)(uint16_t)from[j + 1] | (uint32_t)(uint16_t)from[j + 3] << 16;
        }
        for (int32_t j = 4 * words; j < 4 * words + rest; j++, left++) {
            uint32_t *const to = f->inputs + half + left / 2 * 4 + i;
            *to = left % 2 ? *to | (uint32_t)(uint16_t)from[j] << 16 : (uint32_t)(uint16_t)from[j];
        }
    }
}

/* What the assembly does. Less than no taps: inputs are there, widened, block after block. `added`: the stream begins
 * with three constants, and results are added to what is there: see mote_gemm3_add_s8.h. */
static inline void mote_gemm4x2_c(const mote_gemm4x2_frame_t *f, int32_t weights, int32_t out, int32_t s, int32_t line,
                                  int32_t taps, int32_t words, int32_t rest, int32_t added, const int32_t *biases) {
    const int32_t lines = taps > 0 ? taps : 1, steps = 2 * lines * words + (lines * rest + 1) / 2;
    const int32_t *const q = f->stream;
    for (int32_t b = 0; b < f->blocks; b++) {
        const int32_t *stream = f->stream + (added > 0 ? 3 : 0);
        const uint32_t *const inputs = f->inputs + (taps < 0 ? b * 4 * steps : 0);
        for (int32_t i = 0; taps >= 0 && i < 4; i++) {
            mote_gemm4x2_widen(f, taps, words, rest, b, i);
        }
        for (int32_t at = 0; at < f->span; at += 2 * line) {
            int32_t byte[2][MOTE_GEMM3_MOST];
            mote_gemm3_two(inputs, 4, &stream, biases != NULL ? biases + 2 * (at / (2 * line)) : NULL, steps, weights, 0, out, s, byte);
            for (int32_t i = 0; i < 8 && added > 0; i++) { /* of all pixels first: one may be there more than once */
                int32_t *const y = &byte[i / 4][i % 4];
                const int8_t other = f->to[i % 4][b * f->out_step + at + i / 4 * line];
                *y = mote_clamp((q[1] + q[0] * *y + q[2] * other) >> added, -128, 127);
            }
            for (int32_t i = 0; i < 4; i++) {
                int8_t *const to = f->to[i] + b * f->out_step + at;
                to[0] = (int8_t)(uint8_t)(byte[0][i] & 0xff);
                to[line] = (int8_t)(uint8_t)(byte[1][i] & 0xff);
            }
        }
    }
}

#define MOTE_GEMM4X2_CODE(id, weights, out, s, line, taps, words, rest, text) \
    MOTE_UNUSED static inline void mote_gemm4x2_##id(const mote_gemm4x2_frame_t *frame) { \
        mote_gemm4x2_c(frame, mote_gemm3_##weights, mote_gemm3_##out, s, line, taps, words, rest, 0, NULL); \
    }
#define MOTE_GEMM4X2_APART_CODE(id, weights, out, s, line, taps, words, rest, apart, text) \
    MOTE_UNUSED static inline void mote_gemm4x2_##id(const mote_gemm4x2_frame_t *frame) { \
        mote_gemm4x2_c(frame, mote_gemm3_##weights, mote_gemm3_##out, s, line, taps, words, rest, 0, \
                       (const int32_t *)(const void *)((const int8_t *)frame->inputs + (apart))); \
    }

/* The same for what is known at run time. */
static inline void mote_gemm4x2_any_c(const mote_gemm4x2_frame_t *f, const mote_gemm3_t *g, int32_t taps,
                                      int32_t weights, int32_t out, int32_t s, int32_t added) {
    mote_gemm4x2_c(f, weights, out, s, g->planes > 0 ? g->planes : 1, taps, g->depth / 4 / (taps > 0 ? taps : 1), 0,
                   added, NULL);
}

#define MOTE_GEMM4X2_ANY_CODE(id, weights, out, s, text) \
    MOTE_UNUSED static inline void mote_gemm4x2_##id(const mote_gemm4x2_frame_t *frame, const mote_gemm3_t *gemm, \
                                                     int32_t widening) { \
        mote_gemm4x2_any_c(frame, gemm, widening, mote_gemm3_##weights, mote_gemm3_##out, s, 0); \
    }
#define MOTE_GEMM4X2_WIDENING(taps, text) enum { mote_gemm4x2_widening_##taps = (taps) };
#define MOTE_GEMM4X2_WIDENED (-1)
#endif

/* The first and the last word of a line. */
static inline void mote_gemm4x2_clear(int8_t *line, int8_t *end) {
    *(uint32_t *)(void *)line = 0;
    *(uint32_t *)(void *)(end - 4) = 0;
}

/* Planar: zeros before and behind the pixels of each line. */
static inline void mote_gemm4x2_pad(const mote_gemm3_t *g, int32_t width, int8_t *out) {
    const int32_t line = g->planes, after = line - width - g->before;
    if (g->before > 4 || after > 4) {
        mote_clear(out, g->channels * line);
    } else if (g->before > 0 || after > 0) {
        int32_t lines = g->channels;
        for (; lines > 3; lines -= 4) {
            int8_t *const first = out, *const second = first + line, *const third = second + line;
            int8_t *const fourth = third + line;
            out = fourth + line;
            mote_gemm4x2_clear(first, second);
            mote_gemm4x2_clear(second, third);
            mote_gemm4x2_clear(third, fourth);
            mote_gemm4x2_clear(fourth, out);
        }
        for (; lines > 0; lines--, out += line) {
            mote_gemm4x2_clear(out, out + line);
        }
    }
}

/* Where the first output of the pixel in column x of a row goes. */
static inline int8_t *mote_gemm4x2_to(const mote_gemm3_t *g, int8_t *out, int32_t x) {
    return out + (g->planes > 0 ? mote_planar_place(x + g->before) : x * g->pixel);
}

MOTE_ALWAYS_INLINE void mote_gemm4x2_frame(const mote_gemm3_t *g, uint32_t *scratch, mote_gemm4x2_frame_t *f) {
    f->inputs = scratch;
    f->stream = g->stream;
    f->span = g->channels * (g->planes > 0 ? g->planes : 1);
    f->out_step = 4 * (g->planes > 0 ? 1 : g->pixel);
}

/* How far some rows are computed: what is next, and pixels that wait for others. */
typedef struct {
    const mote_gemm3_t *gemm;
    int32_t width, count;      /* pixels of a row; rows */
    int32_t x, y, waiting;     /* where it is; pixels that wait */
    int8_t *out;               /* of row y */
    int8_t *const *outs;       /* of all rows, where they do not lie one behind another, */
    const int8_t *const *rows; /* and the rows of inputs */
    mote_gemm4x2_frame_t now, left;
} mote_gemm4x2_walk_t;

static inline void mote_gemm4x2_start(mote_gemm4x2_walk_t *w, const mote_gemm3_t *g, int32_t width, int32_t count,
                                      const int8_t *const *rows, int8_t *const *outs, int8_t *out, uint32_t *scratch) {
    w->gemm = g;
    w->width = width;
    w->count = count;
    w->x = w->y = w->waiting = 0;
    w->rows = rows;
    w->outs = outs;
    w->out = out;
    mote_gemm4x2_frame(g, scratch, &w->now);
    w->left = w->now;
    w->left.blocks = 1;
}

/* The next four pixels of the row. */
static inline void mote_gemm4x2_four(mote_gemm4x2_walk_t *w) {
    for (int32_t i = 0; i < 4; i++) {
        w->now.to[i] = mote_gemm4x2_to(w->gemm, w->out, w->x + i);
    }
}

/* A 1x1 convolution: the next blocks to compute, NULL where there are none. */
MOTE_NOINLINE const mote_gemm4x2_frame_t *mote_pointwise4x2_next(const mote_pointwise3_t *p, const int8_t *in,
                                                                 mote_gemm4x2_walk_t *w) {
    const int32_t channels = p->in_channels, width = w->width;
    mote_gemm4x2_frame_t *const now = &w->now, *const left = &w->left;
    for (; w->y < w->count; w->y++, w->x = 0, w->out += p->out_stride) {
        const int8_t *const row = w->rows != NULL ? w->rows[w->y] : in + w->y * p->in_stride;
        w->out = w->rows != NULL ? w->outs[w->y] : w->out;
        if (w->x == 0) {
            if (w->gemm->planes > 0) {
                mote_gemm4x2_pad(w->gemm, width, w->out);
            }
            if (width > 3) {
                mote_gemm4x2_four(w);
                for (int32_t i = 0; i < 4; i++) {
                    now->from[i] = row + i * channels;
                }
                now->stride = channels;
                now->blocks = width >> 2;
                w->x = width & ~3;
                return now;
            }
        }
        while (w->x < width) {
            left->from[w->waiting] = row + w->x * channels;
            left->to[w->waiting] = mote_gemm4x2_to(w->gemm, w->out, w->x);
            w->x++;
            if (++w->waiting == 4) {
                w->waiting = 0;
                return left;
            }
        }
    }
    if (w->waiting == 0) {
        return NULL;
    }
    for (; w->waiting < 4; w->waiting++) { /* the last one is computed again */
        left->from[w->waiting] = left->from[w->waiting - 1];
        left->to[w->waiting] = left->to[w->waiting - 1];
    }
    w->waiting = 0;
    return left;
}

/* `count` rows, one after another, or where `rows` and `outs` say. Rows that lie one after another and have nothing in
 * between are one long row. */
#define MOTE_POINTWISE4X2(id) MOTE_POINTWISE4X2_CALLING(id, id, frame)
#define MOTE_POINTWISE4X2_ANY(id, code, taps) \
    MOTE_POINTWISE4X2_CALLING(id, code, frame, &p->gemm, mote_gemm4x2_widening_##taps)
#define MOTE_POINTWISE4X2_CALLING(id, code, ...) \
    typedef mote_pointwise3_t mote_pointwise4x2_##id##_t; \
    MOTE_NOINLINE void mote_pointwise4x2_##id##_all(const mote_pointwise3_t *p, const int8_t *in, int8_t *out, \
                                                    const int8_t *const *rows, int8_t *const *outs, int32_t count, \
                                                    uint32_t *scratch) { \
        const int32_t one = rows == NULL && p->gemm.planes == 0; \
        const mote_gemm4x2_frame_t *frame; \
        mote_gemm4x2_walk_t walk; \
        mote_gemm4x2_start(&walk, &p->gemm, one ? p->width * count : p->width, one ? 1 : count, rows, outs, out, \
                           scratch); \
        while ((frame = mote_pointwise4x2_next(p, in, &walk)) != NULL) { \
            mote_gemm4x2_##code(__VA_ARGS__); \
        } \
    } \
    MOTE_UNUSED static inline void mote_pointwise4x2_##id(const mote_pointwise3_t *p, const int8_t *in, int8_t *out, \
                                                          int32_t lo, int32_t hi, uint32_t *scratch) { \
        mote_pointwise4x2_##id##_all(p, in + lo * p->in_stride, out + lo * p->out_stride, NULL, NULL, hi - lo, \
                                     scratch); \
    } \
    MOTE_UNUSED static inline void mote_pointwise4x2_##id##_rows(const mote_pointwise3_t *p, \
                                                                 const int8_t *const *rows, int8_t *const *outs, \
                                                                 int32_t count, uint32_t *scratch) { \
        mote_pointwise4x2_##id##_all(p, NULL, NULL, rows, outs, count, scratch); \
    }

/* Any window. Scratch: the widened inputs; the windows of pixels that wait; columns under four neighbours' windows. */
typedef struct {
    mote_patch_t patch;
    mote_gemm3_t gemm;
    int32_t waiting, columns; /* where these begin, in bytes */
} mote_conv4x2_t;

/* For each row of the window under output column x, `size` bytes from its first column on, with padding; `pitch` bytes
 * from one to the next. */
MOTE_NOINLINE void mote_conv4x2_copy(const mote_patch_t *w, const int8_t *const *rows, int32_t x, int32_t size,
                                     int32_t pitch, int8_t *to) {
    const mote_span_t *const s = &w->cols;
    const int32_t c = w->in_channels, first = (x * s->step - s->pad) * c, room = s->in_size * c - first;
    const int32_t lo = first < 0 ? -first : 0, hi = room < size ? room : size;
    for (int32_t k = 0; k < w->rows.taps; k++, to += pitch) {
        if (rows[k] == NULL || hi < size || lo > 0) {
            memset(to, (int)w->in_zero, (size_t)size);
        }
        if (rows[k] != NULL && hi > lo) {
            memcpy(to + lo, rows[k] + first + lo, (size_t)(hi - lo));
        }
    }
}

/* Output columns x from a multiple of four on: how many blocks of four have all of their windows inside the image. */
static inline int32_t mote_conv4x2_inside(const mote_span_t *s, int32_t x) {
    const int32_t first = x * s->step - s->pad, room = s->in_size - s->taps - first;
    int32_t pixels = room < 0 ? 0 : s->out_size - x;
    if (first < 0) {
        return 0;
    }
    while (pixels > 0 && (pixels - 1) * s->step > room) {
        pixels--;
    }
    return pixels >> 2;
}

/* Whether any row of a window is padding. */
static inline int32_t mote_conv4x2_missing(const int8_t *const *rows, int32_t taps) {
    int32_t missing = 0;
    for (int32_t k = 0; k < taps; k++) {
        missing += rows[k] == NULL;
    }
    return missing > 0;
}

/* The next blocks to compute, NULL where there are none. The first output row is made from `rows`; the next ones from
 * `step` rows further on and written to where the walk's `outs` say, or, for a tensor in one piece, from those under
 * row y + 1 and so on of the tensor `in`, and written behind one another. */
MOTE_NOINLINE const mote_gemm4x2_frame_t *mote_conv4x2_next(const mote_conv4x2_t *p, const int8_t *in, int32_t y,
                                                            const int8_t **rows, mote_gemm4x2_walk_t *w) {
    const mote_patch_t *const patch = &p->patch;
    const mote_span_t *const s = &patch->cols;
    const int32_t taps = patch->rows.taps, width = w->width, line = s->taps * patch->in_channels;
    const int32_t step = s->step * patch->in_channels, four = 3 * step + line;
    int8_t *const scratch = (int8_t *)w->now.inputs, *const windows = scratch + p->waiting;
    mote_gemm4x2_frame_t *const now = &w->now, *const left = &w->left;
    for (; w->y < w->count; w->y++, w->x = 0) {
        if (w->x == 0) {
            if (w->y > 0 && w->outs == NULL) {
                mote_window_s8(&patch->rows, in, y + w->y, rows);
                w->out += patch->rows.out_stride;
            }
            w->out = w->outs != NULL ? w->outs[w->y] : w->out;
            if (w->gemm->planes > 0) {
                mote_gemm4x2_pad(w->gemm, width, w->out);
            }
        }
        const int8_t *const *const these = w->outs != NULL ? rows + w->y * patch->rows.step : rows;
        if (w->x < (width & ~3)) {
            const int32_t inside = mote_conv4x2_missing(these, taps) ? 0 : mote_conv4x2_inside(s, w->x);
            mote_gemm4x2_four(w);
            if (inside == 0) {
                mote_conv4x2_copy(patch, these, w->x, four, four, scratch + p->columns);
            }
            for (int32_t k = 0; k < taps; k++) {
                now->from[k] = inside == 0 ? scratch + p->columns + k * four
                                           : these[k] + w->x * step - s->pad * patch->in_channels;
            }
            now->stride = step;
            now->blocks = inside > 0 ? inside : 1;
            w->x += 4 * now->blocks;
            return now;
        }
        while (w->x < width) {
            mote_conv4x2_copy(patch, these, w->x, line, 4 * line, windows + w->waiting * line);
            left->to[w->waiting++] = mote_gemm4x2_to(w->gemm, w->out, w->x++);
            if (w->waiting < 4 && (w->y + 1 < w->count || w->x < width)) {
                continue;
            }
            for (; w->waiting < 4; w->waiting++) { /* the last one is computed again */
                mote_conv4x2_copy(patch, these, w->x - 1, line, 4 * line, windows + w->waiting * line);
                left->to[w->waiting] = left->to[w->waiting - 1];
            }
            for (int32_t k = 0; k < taps; k++) {
                left->from[k] = windows + 4 * k * line;
            }
            left->stride = line;
            w->waiting = 0;
            return left;
        }
    }
    return NULL;
}

#define MOTE_CONV4X2(id) MOTE_CONV4X2_CALLING(id, id, frame)
#define MOTE_CONV4X2_ANY(id, code, taps) \
    MOTE_CONV4X2_CALLING(id, code, frame, &p->gemm, mote_gemm4x2_widening_##taps)
#define MOTE_CONV4X2_CALLING(id, code, ...) \
    typedef mote_conv4x2_t mote_conv4x2_##id##_t; \
    MOTE_NOINLINE void mote_conv4x2_##id##_all(const mote_conv4x2_t *p, const int8_t *in, const int8_t **rows, \
                                               int8_t *const *outs, int32_t y, int32_t count, int8_t *out, \
                                               uint32_t *scratch) { \
        const mote_gemm4x2_frame_t *frame; \
        mote_gemm4x2_walk_t walk; \
        mote_gemm4x2_start(&walk, &p->gemm, p->patch.cols.out_size, count, NULL, outs, out, scratch); \
        while ((frame = mote_conv4x2_next(p, in, y, rows, &walk)) != NULL) { \
            mote_gemm4x2_##code(__VA_ARGS__); \
        } \
    } \
    MOTE_UNUSED static inline void mote_conv4x2_##id##_rows(const mote_conv4x2_t *p, const int8_t **rows, \
                                                            int8_t *const *outs, int32_t count, uint32_t *scratch) { \
        mote_conv4x2_##id##_all(p, NULL, rows, outs, 0, count, outs[0], scratch); \
    } \
    MOTE_UNUSED static inline void mote_conv4x2_##id##_row(const mote_conv4x2_t *p, const int8_t **rows, int8_t *out, \
                                                           uint32_t *scratch) { \
        mote_conv4x2_##id##_all(p, NULL, rows, NULL, 0, 1, out, scratch); \
    } \
    MOTE_UNUSED static inline void mote_conv4x2_##id(const mote_conv4x2_t *p, const int8_t *in, int8_t *out, \
                                                     int32_t lo, int32_t hi, uint32_t *scratch) { \
        const int8_t *rows[MOTE_MAX_TAPS]; \
        mote_window_s8(&p->patch.rows, in, lo, rows); \
        mote_conv4x2_##id##_all(p, in, rows, NULL, lo, hi - lo, out + lo * p->patch.rows.out_stride, scratch); \
    }

#endif
