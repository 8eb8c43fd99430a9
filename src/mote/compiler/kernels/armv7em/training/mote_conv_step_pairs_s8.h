/* mote_conv_step_pairs_s8.h: mote_conv_step_s8, whose parameters it has, by the terms of mote_pair_sums.h. */
#ifndef MOTE_CONV_STEP_PAIRS_S8_H
#define MOTE_CONV_STEP_PAIRS_S8_H

#include "mote_clear.h"
#include "mote_pair_sums.h"
#include "mote_step_fours.h"

#define MOTE_CONV_STEP_TERMS 128 /* products are at most 128 * 255: so many are below MOTE_PAIR_MOST */

typedef struct {
    mote_conv_step_t of;
    int32_t block; /* channels of the image at once, a multiple of eight */
} mote_conv_step_pairs_s8_t;

/* The step of an update, which is added to the weights. */
typedef struct {
    mote_conv_step_pairs_s8_t of;
    mote_momentum_t momentum;
} mote_conv_momentum_pairs_s8_t;

/* Where things lie in working memory, in 32-bit words: sums of each tap, terms, and the image in vectors of eight channels,
 * one plane behind the other. */
typedef struct {
    int32_t rows, cols; /* of the image and what is around it, as far as windows reach */
    int32_t terms, vectors, plane, words;
    int32_t channels; /* of the image that are computed now */
} mote_conv_step_room_t;

static inline mote_conv_step_room_t mote_conv_step_room(const mote_conv_step_pairs_s8_t *p) {
    const mote_conv_step_t *const of = &p->of;
    mote_conv_step_room_t r;
    r.rows = mote_gradient_span(&of->rows);
    r.cols = mote_gradient_span(&of->cols);
    r.plane = MOTE_PAIR_BYTES / 4 * r.rows * r.cols;
    r.terms = of->rows.taps * of->cols.taps * p->block;
    r.vectors = r.terms + 2 * ((mote_min(of->step.positions, MOTE_CONV_STEP_TERMS) + 3) / 4 * 4);
    r.channels = p->block;
    r.words = r.vectors + p->block / 8 * r.plane;
    return r;
}

/* Up to eight channels of the image, with zeros around it. */
MOTE_NOINLINE MOTE_HOT void mote_conv_step_vectors(const mote_conv_step_t *p, const mote_conv_step_room_t *r,
                                                   const int8_t *in, int32_t channels, uint32_t *to) {
    const int32_t depth = p->depth, zero = p->zero, pad = p->cols.pad, end = r->cols - pad;
    for (int32_t y = 0; y < r->rows; y++) {
        const int32_t row = y - p->rows.pad;
        const int32_t columns = row < 0 || row >= p->rows.in ? 0 : p->cols.in;
        const int8_t *from = in + (columns > 0 ? row * p->cols.in * depth : 0);
        for (int32_t x = -pad; x < end; x++, to += MOTE_PAIR_BYTES / 4) {
            if (x < 0 || x >= columns) {
                mote_pair_vector(in, 0, 0, to);
            } else {
                mote_pair_vector(from, channels, zero, to);
                from += depth;
            }
        }
    }
}

/* Adds the terms to the sums of all taps. */
MOTE_NOINLINE MOTE_HOT void mote_conv_step_flush(const mote_conv_step_pairs_s8_t *p, const mote_conv_step_room_t *r,
                                                 int32_t count, int32_t *words) {
    const mote_gradient_axis_t *const rows = &p->of.rows, *const cols = &p->of.cols;
    mote_pair_term_t *const terms = (mote_pair_term_t *)(words + r->terms);
    const mote_pair_term_t *const end = terms + mote_pair_fours(terms, count);
    const mote_pair_runs_t runs = {cols->taps, MOTE_PAIR_BYTES * cols->spread, 4 * p->block};
    const uint32_t *line = (const uint32_t *)words + r->vectors;
    int32_t *sums = words;
    for (int32_t ky = 0; ky < rows->taps && count > 0; ky++) {
        const uint32_t *base = line;
        for (int32_t c = 0; c < r->channels; c += 8, base += r->plane) {
            mote_pair_sums(terms, end, base, sums + c, &runs);
        }
        line += MOTE_PAIR_BYTES / 4 * rows->spread * r->cols;
        sums += cols->taps * p->block;
    }
}

/* The terms of `count` pixels of a row of the gradient; where they end. */
static inline mote_pair_term_t *mote_conv_step_terms(const int8_t *gradient, int32_t all, int32_t count, int32_t at,
                                                     int32_t next, mote_pair_term_t *t) {
    for (; count > 0; count--, gradient += all, at += next) {
        const int32_t by = *gradient;
        if (by != 0) {
            t->at = at;
            t->by = mote_pair_factor(by);
            t++;
        }
    }
    return t;
}

/* The sums of all taps of one output channel. */
MOTE_NOINLINE MOTE_HOT void mote_conv_step_channel(const mote_conv_step_pairs_s8_t *p, const mote_conv_step_room_t *r,
                                                   const int8_t *gradient, int32_t *words) {
    const mote_gradient_axis_t *const rows = &p->of.rows, *const cols = &p->of.cols;
    const int32_t next = MOTE_PAIR_BYTES * cols->stride, all = p->of.step.all, line = rows->stride * r->cols;
    mote_pair_term_t *const terms = (mote_pair_term_t *)(words + r->terms), *t = terms;
    mote_clear((int8_t *)words, 4 * r->terms);
    for (int32_t y = 0; y < rows->out; y++) {
        for (int32_t x = 0, some; x < cols->out; x += some, gradient += some * all) {
            some = mote_min(cols->out - x, MOTE_CONV_STEP_TERMS);
            if (t - terms + some > MOTE_CONV_STEP_TERMS) {
                mote_conv_step_flush(p, r, (int32_t)(t - terms), words);
                t = terms;
            }
            t = mote_conv_step_terms(gradient, all, some, MOTE_PAIR_BYTES * y * line + x * next, next, t);
        }
    }
    mote_conv_step_flush(p, r, (int32_t)(t - terms), words);
}

/* The steps of `count` weights of each tap, from `element` on. */
MOTE_NOINLINE MOTE_HOT void mote_conv_step_weights(const mote_conv_step_pairs_s8_t *p,
                                                   const mote_step_channel_t *channel, const int32_t *sums,
                                                   int32_t count, int32_t element, int8_t *weights) {
    const mote_step_t *const step = &p->of.step;
    const mote_step_fours_t fours = mote_step_fours_of(channel, step->left);
    for (int32_t taps = p->of.rows.taps * p->of.cols.taps; taps > 0; taps--, sums += p->block, element += p->of.depth) {
        mote_step_weights(step, channel, &fours, sums, count, element, weights);
    }
}

static inline void mote_conv_step_pairs_s8(const mote_conv_step_pairs_s8_t *p, const int8_t *gradient, const int8_t *in,
                                           const int32_t *size, const int32_t *number, int8_t *weights, void *scratch) {
    const mote_conv_step_t *const of = &p->of;
    mote_conv_step_room_t r = mote_conv_step_room(p);
    const int32_t next = of->rows.taps * of->cols.taps * of->depth;
    int32_t *const words = (int32_t *)scratch;
    for (int32_t begin = 0; begin < of->depth; begin += p->block) {
        int32_t element = begin;
        uint32_t *vectors = (uint32_t *)words + r.vectors;
        r.channels = mote_min(of->depth - begin, p->block);
        for (int32_t c = 0; c < r.channels; c += 8, vectors += r.plane) {
            mote_conv_step_vectors(of, &r, in + begin + c, r.channels - c, vectors);
        }
        for (int32_t o = 0; o < of->step.channels; o++, element += next) {
            const mote_step_channel_t channel = mote_step_channel(&of->step, size, number, o);
            mote_conv_step_channel(p, &r, gradient + of->step.first + o, words);
            mote_conv_step_weights(p, &channel, words, r.channels, element, weights);
        }
    }
}

static inline void mote_conv_momentum_pairs_s8(const mote_conv_momentum_pairs_s8_t *p, const int8_t *gradient,
                                               const int8_t *in, const int32_t *size, const int32_t *number,
                                               int8_t *update, int8_t *weights, void *scratch) {
    mote_conv_step_pairs_s8(&p->of, gradient, in, size, number, update, scratch);
    mote_momentum_s8(&p->momentum, number, update, weights);
}

#endif
