/* mote_conv_input_gradient_pairs_s8.h: mote_conv_input_gradient_s8 by the terms of mote_pair_sums.h. */
#ifndef MOTE_CONV_INPUT_GRADIENT_PAIRS_S8_H
#define MOTE_CONV_INPUT_GRADIENT_PAIRS_S8_H

#include "mote_clear.h"
#include "mote_input_gradients_s8.h"
#include "mote_pair_sums.h"

#define MOTE_INPUT_TERMS 128 /* the most that are summed up at once */
#define MOTE_INPUT_SOME 8    /* terms between looks at whether their sums still fit */
#define MOTE_INPUT_ROOM (MOTE_PAIR_MOST / 128) /* the largest sum of absolute values of factors of weights */
#define MOTE_INPUT_FACTOR 2048 /* the largest factor */

typedef struct {
    mote_conv_input_gradient_s8_t layer;
    int32_t block; /* channels of the image at once, a multiple of eight */
} mote_conv_input_gradient_pairs_s8_t;

/* Where things lie in working memory, in 32-bit words: vectors of the weights of each tap and output channel, sums of each
 * pixel of the rows that a row of the gradient adds to, and terms. Vectors and sums are of eight channels, one plane behind
 * the other. */
typedef struct {
    int32_t rows; /* of sums */
    int32_t vectors, plane; /* a plane's words: of vectors, of sums */
    int32_t sums, terms, words;
    int32_t channels; /* that are computed now */
} mote_input_gradient_room_t;

static inline mote_input_gradient_room_t mote_input_gradient_room(const mote_input_gradient_t *of, int32_t block) {
    mote_input_gradient_room_t r;
    r.rows = (of->rows.taps - 1) * of->rows.spread + 1;
    r.vectors = MOTE_PAIR_BYTES / 4 * of->rows.taps * of->cols.taps * of->outputs;
    r.plane = 8 * r.rows * of->cols.in;
    r.sums = block / 8 * r.vectors;
    r.terms = r.sums + block / 8 * r.plane;
    r.channels = block;
    r.words = r.terms + 2 * ((mote_min(of->outputs, MOTE_INPUT_TERMS) + 3) / 4 * 4);
    return r;
}

MOTE_NOINLINE MOTE_HOT void mote_input_gradient_vectors(const mote_input_gradient_t *of, const int8_t *weights,
                                                        int32_t channels, uint32_t *to) {
    const int32_t taps = of->rows.taps * of->cols.taps, next = taps * of->channels;
    for (int32_t tap = 0; tap < taps; tap++, weights += of->channels) {
        const int8_t *from = weights;
        for (int32_t o = of->outputs; o > 0; o--, from += next, to += MOTE_PAIR_BYTES / 4) {
            mote_pair_vector(from, channels, 0, to);
        }
    }
}

/* Adds the terms of the gradient's pixel to the sums of the pixels that its window has. */
static inline void mote_input_gradient_flush(const mote_conv_input_gradient_pairs_s8_t *p,
                                             const mote_input_gradient_room_t *r, int32_t y, int32_t x, int32_t count,
                                             int32_t *words) {
    const mote_gradient_axis_t *const rows = &p->layer.of.rows, *const cols = &p->layer.of.cols;
    const int32_t next = MOTE_PAIR_BYTES / 4 * p->layer.of.outputs, first = x * cols->stride - cols->pad;
    mote_pair_term_t *const terms = (mote_pair_term_t *)(words + r->terms);
    const mote_pair_term_t *const end = terms + mote_pair_fours(terms, count);
    int32_t lo = 0, hi = cols->taps;
    while (lo < hi && first + lo * cols->spread < 0) {
        lo++;
    }
    while (hi > lo && first + (hi - 1) * cols->spread >= cols->in) {
        hi--;
    }
    const mote_pair_runs_t runs = {hi - lo, 4 * next, 32 * cols->spread};
    for (int32_t ky = 0; ky < rows->taps && hi > lo && count > 0; ky++) {
        const int32_t row = mote_gradient_input(rows, y, ky);
        if (row >= 0) {
            const uint32_t *vectors = (const uint32_t *)words + (ky * cols->taps + lo) * next;
            int32_t *sums = words + r->sums + 8 * (row % r->rows * cols->in + first + lo * cols->spread);
            for (int32_t c = 0; c < r->channels; c += 8, vectors += r->vectors, sums += r->plane) {
                mote_pair_sums(terms, end, vectors, sums, &runs);
            }
        }
    }
}

/* What the gradient's pixel adds. */
MOTE_NOINLINE MOTE_HOT void mote_input_gradient_pixel(const mote_conv_input_gradient_pairs_s8_t *p,
                                                      const mote_input_gradient_room_t *r, const int8_t *gradient,
                                                      int32_t y, int32_t x, int32_t *words) {
    mote_pair_term_t *const terms = (mote_pair_term_t *)(words + r->terms), *t = terms;
    const int16_t *factor = p->layer.factor;
    int32_t room = MOTE_INPUT_ROOM, at = 0;
    for (int32_t left = p->layer.of.outputs; left > 0;) {
        int32_t some = mote_min(left, MOTE_INPUT_SOME);
        left -= some;
        if (room < MOTE_INPUT_SOME * MOTE_INPUT_FACTOR || t - terms + some > MOTE_INPUT_TERMS) {
            mote_input_gradient_flush(p, r, y, x, (int32_t)(t - terms), words);
            t = terms;
            room = MOTE_INPUT_ROOM;
        }
        for (; some > 0; some--, at += MOTE_PAIR_BYTES, factor++) {
            const int32_t g = *gradient++;
            if (g != 0) {
                const int32_t by = (g * (int32_t)*factor + ((int32_t)1 << 10)) >> 11;
                room -= by < 0 ? -by : by;
                t->at = at;
                t->by = mote_pair_factor(by);
                t++;
            }
        }
    }
    mote_input_gradient_flush(p, r, y, x, (int32_t)(t - terms), words);
}

#if MOTE_DSP
/* A sum as int8, where it is shifted to the right and the multiplier is normalized. */
static inline uint32_t mote_input_gradient_byte(int32_t sum, int32_t mult, int32_t shift) {
    const int32_t high = mote_high_mul_normal(sum, mult);
    uint32_t found;
    __asm__("ssat %0, #8, %1, asr #1" : "=r"(found) : "r"(((high + (high >> 31)) >> shift) + 1));
    return found;
}
#endif

/* Four sums as bytes of -127 at least, where they are shifted to the right. */
static inline void mote_input_gradient_four(const int32_t *sums, int32_t mult, int32_t shift, int8_t *out) {
#if MOTE_DSP
    const int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];
    uint32_t found = 0;
    if ((a | b | c | d) != 0) {
        const uint32_t least = 0x81818181u, first = mote_input_gradient_byte(a, mult, shift) & 0xff,
                       second = mote_input_gradient_byte(b, mult, shift) & 0xff;
        found = first | second << 8 | (mote_input_gradient_byte(c, mult, shift) & 0xff) << 16 |
                mote_input_gradient_byte(d, mult, shift) << 24;
        __asm__("ssub8 %0, %1, %2\n\tsel %0, %1, %2" : "=&r"(found) : "r"(found), "r"(least));
    }
    memcpy(out, &found, 4);
#else
    for (int32_t i = 0; i < 4; i++) {
        out[i] = mote_clamp(mote_rescale(sums[i], mult, shift), -127, 127);
    }
#endif
}

/* A row of sums as the image's gradient; they are zero then. */
MOTE_NOINLINE MOTE_HOT void mote_input_gradient_row(const mote_conv_input_gradient_s8_t *p, int32_t *sums,
                                                    int32_t channels, int8_t *out) {
    const int32_t next = p->of.channels, mult = p->mult, shift = p->shift;
    const int32_t fours = shift < 0 ? 0 : mote_min(channels, 8) & ~3;
    int32_t *at = sums;
    for (int32_t x = p->of.cols.in; x > 0; x--, at += 8, out += next) {
        for (int32_t c = 0; c < fours; c += 4) {
            mote_input_gradient_four(at + c, mult, shift, out + c);
        }
        for (int32_t c = fours; c < channels && c < 8; c++) {
            out[c] = mote_clamp(mote_rescale(at[c], mult, shift), -127, 127);
        }
    }
    mote_clear((int8_t *)sums, 32 * p->of.cols.in);
}

/* A block of channels of the image's gradient. */
static inline void mote_input_gradient_block(const mote_conv_input_gradient_pairs_s8_t *p,
                                             const mote_input_gradient_room_t *r, const int8_t *gradient,
                                             int32_t *words, int8_t *out) {
    const mote_input_gradient_t *const of = &p->layer.of;
    const int32_t line = of->cols.in * of->channels;
    int32_t row = 0;
    for (int32_t y = 0; y <= of->rows.out; y++) {
        const int32_t first = y * of->rows.stride - of->rows.pad; /* rows before are complete */
        for (; row < of->rows.in && (row < first || y == of->rows.out); row++) {
            int32_t *sums = words + r->sums + 8 * (row % r->rows) * of->cols.in;
            for (int32_t c = 0; c < r->channels; c += 8, sums += r->plane) {
                mote_input_gradient_row(&p->layer, sums, r->channels - c, out + row * line + c);
            }
        }
        for (int32_t x = 0; x < of->cols.out && y < of->rows.out; x++, gradient += of->outputs) {
            mote_input_gradient_pixel(p, r, gradient, y, x, words);
        }
    }
}

static inline void mote_conv_input_gradient_pairs_s8(const mote_conv_input_gradient_pairs_s8_t *p,
                                                     const int8_t *gradient, const int8_t *weights, int8_t *out,
                                                     void *scratch) {
    const mote_input_gradient_t *const of = &p->layer.of;
    mote_input_gradient_room_t r = mote_input_gradient_room(of, p->block);
    int32_t *const words = (int32_t *)scratch;
    mote_clear((int8_t *)(words + r.sums), 4 * (r.terms - r.sums));
    for (int32_t begin = 0; begin < of->channels; begin += p->block) {
        uint32_t *vectors = (uint32_t *)words;
        r.channels = mote_min(of->channels - begin, p->block);
        for (int32_t c = 0; c < r.channels; c += 8, vectors += r.vectors) {
            mote_input_gradient_vectors(of, weights + begin + c, r.channels - c, vectors);
        }
        mote_input_gradient_block(p, &r, gradient, words, out + begin);
    }
}

#endif
