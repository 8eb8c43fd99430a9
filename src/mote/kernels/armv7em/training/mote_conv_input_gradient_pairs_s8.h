/* mote_conv_input_gradient_pairs_s8.h: mote_conv_input_gradient_s8, whose parameters it has, by the terms of
 * mote_pair_sums.h. */
#ifndef MOTE_CONV_INPUT_GRADIENT_PAIRS_S8_H
#define MOTE_CONV_INPUT_GRADIENT_PAIRS_S8_H

#include "mote_clear.h"
#include "mote_input_gradients_s8.h"
#include "mote_pair_sums.h"

typedef mote_conv_input_gradient_s8_t mote_conv_input_gradient_pairs_s8_t;

#define MOTE_INPUT_TERMS 128 /* the most that are summed up at once */
#define MOTE_INPUT_SOME 8    /* terms between looks at whether their sums still fit */
#define MOTE_INPUT_ROOM (MOTE_PAIR_MOST / 128) /* the largest sum of absolute values of factors of weights */
#define MOTE_INPUT_FACTOR 2048 /* the largest factor */

/* Where things lie in working memory, in 32-bit words: vectors of the weights of each tap and output channel, eight sums of
 * each pixel of the rows that a row of the gradient adds to, and terms. */
typedef struct {
    int32_t rows; /* of sums */
    int32_t sums, terms, words;
} mote_input_gradient_room_t;

static inline mote_input_gradient_room_t mote_input_gradient_room(const mote_input_gradient_t *of) {
    mote_input_gradient_room_t r;
    r.rows = (of->rows.taps - 1) * of->rows.spread + 1;
    r.sums = MOTE_PAIR_BYTES / 4 * of->rows.taps * of->cols.taps * of->outputs;
    r.terms = r.sums + 8 * r.rows * of->cols.in;
    r.words = r.terms + 2 * ((mote_min(of->outputs, MOTE_INPUT_TERMS) + 3) / 4 * 4);
    return r;
}

static inline void mote_input_gradient_vectors(const mote_input_gradient_t *of, const int8_t *weights, int32_t channels,
                                               uint32_t *to) {
    const int32_t taps = of->rows.taps * of->cols.taps;
    for (int32_t tap = 0; tap < taps; tap++, weights += of->channels) {
        const int8_t *from = weights;
        for (int32_t o = 0; o < of->outputs; o++, from += taps * of->channels, to += MOTE_PAIR_BYTES / 4) {
            mote_pair_vector(from, channels, 0, to);
        }
    }
}

/* Adds the terms of the gradient's pixel to the sums of the pixels that its window has. */
static inline void mote_input_gradient_flush(const mote_input_gradient_t *of, const mote_input_gradient_room_t *r,
                                             int32_t y, int32_t x, int32_t count, int32_t *words) {
    mote_pair_term_t *const terms = (mote_pair_term_t *)(words + r->terms), *end;
    const uint32_t *vectors = (const uint32_t *)words;
    if (count == 0) {
        return;
    }
    end = terms + mote_pair_fours(terms, count);
    for (int32_t ky = 0; ky < of->rows.taps; ky++) {
        const int32_t row = mote_gradient_input(&of->rows, y, ky);
        for (int32_t kx = 0; kx < of->cols.taps; kx++, vectors += MOTE_PAIR_BYTES / 4 * of->outputs) {
            const int32_t column = mote_gradient_input(&of->cols, x, kx);
            if (row >= 0 && column >= 0) {
                mote_pair_sums(terms, end, vectors, words + r->sums + 8 * (row % r->rows * of->cols.in + column));
            }
        }
    }
}

/* What the gradient's pixel adds. */
MOTE_NOINLINE MOTE_HOT void mote_input_gradient_pixel(const mote_conv_input_gradient_s8_t *p,
                                                      const mote_input_gradient_room_t *r, const int8_t *gradient,
                                                      int32_t y, int32_t x, int32_t *words) {
    mote_pair_term_t *const terms = (mote_pair_term_t *)(words + r->terms), *t = terms;
    const int16_t *factor = p->factor;
    int32_t room = MOTE_INPUT_ROOM, at = 0;
    for (int32_t left = p->of.outputs; left > 0;) {
        int32_t some = mote_min(left, MOTE_INPUT_SOME);
        left -= some;
        if (room < MOTE_INPUT_SOME * MOTE_INPUT_FACTOR || t - terms + some > MOTE_INPUT_TERMS) {
            mote_input_gradient_flush(&p->of, r, y, x, (int32_t)(t - terms), words);
            t = terms;
            room = MOTE_INPUT_ROOM;
        }
        for (; some > 0; some--, at += MOTE_PAIR_BYTES, factor++) {
            const int32_t g = *gradient++;
            if (g != 0) {
                const int32_t by = (g * (int32_t)*factor + ((int32_t)1 << 10)) >> 11;
                room -= by < 0 ? -by : by;
                t->at = at;
                t->by = by;
                t++;
            }
        }
    }
    mote_input_gradient_flush(&p->of, r, y, x, (int32_t)(t - terms), words);
}

/* A row of sums as the image's gradient; they are zero then. */
MOTE_NOINLINE MOTE_HOT void mote_input_gradient_row(const mote_conv_input_gradient_s8_t *p, int32_t *sums,
                                                    int32_t channels, int8_t *out) {
    const int32_t next = p->of.channels, mult = p->mult, shift = p->shift;
    for (int32_t x = p->of.cols.in; x > 0; x--, sums += 8, out += next) {
        for (int32_t c = 0; c < channels; c++) {
            out[c] = mote_clamp(mote_rescale(sums[c], mult, shift), -127, 127);
        }
        mote_clear((int8_t *)sums, 32);
    }
}

static inline void mote_conv_input_gradient_pairs_s8(const mote_conv_input_gradient_s8_t *p, const int8_t *gradient,
                                                     const int8_t *weights, int8_t *out, void *scratch) {
    const mote_input_gradient_t *const of = &p->of;
    const mote_input_gradient_room_t r = mote_input_gradient_room(of);
    const int32_t line = of->cols.in * of->channels;
    int32_t *const words = (int32_t *)scratch, *const sums = words + r.sums;
    mote_clear((int8_t *)sums, 32 * r.rows * of->cols.in);
    for (int32_t c = 0; c < of->channels; c += 8) {
        const int32_t some = mote_min(of->channels - c, 8);
        const int8_t *g = gradient;
        int32_t row = 0;
        mote_input_gradient_vectors(of, weights + c, some, (uint32_t *)words);
        for (int32_t y = 0; y <= of->rows.out; y++) {
            const int32_t first = y * of->rows.stride - of->rows.pad; /* rows before are complete */
            for (; row < of->rows.in && (row < first || y == of->rows.out); row++) {
                mote_input_gradient_row(p, sums + 8 * (row % r.rows) * of->cols.in, some, out + row * line + c);
            }
            for (int32_t x = 0; x < of->cols.out && y < of->rows.out; x++, g += of->outputs) {
                mote_input_gradient_pixel(p, &r, g, y, x, words);
            }
        }
    }
}

#endif
