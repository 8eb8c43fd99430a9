/* mote_conv_step_terms_s8.h: mote_conv_step_s8, whose parameters it has, by the terms of mote_term_sums.h. */
#ifndef MOTE_CONV_STEP_TERMS_S8_H
#define MOTE_CONV_STEP_TERMS_S8_H

#include "mote_bytes.h"
#include "mote_step_fours.h"
#include "mote_term_sums.h"

#define MOTE_STEP_TERMS 128 /* the most that are summed up at once */

typedef struct {
    mote_conv_step_t of;
    int32_t block; /* channels of the image at once, a multiple of four */
} mote_conv_step_terms_s8_t;

/* The step of an update, which is added to the weights. */
typedef struct {
    mote_conv_step_terms_s8_t of;
    mote_momentum_t momentum;
} mote_conv_momentum_terms_s8_t;

/* Where things lie in working memory, in bytes: sums of each tap, terms, and the image with what is around it. */
typedef struct {
    int32_t rows, cols; /* of the image, as far as windows reach */
    int32_t terms, image, bytes;
    int32_t channels; /* of the image that are computed now */
} mote_step_terms_room_t;

static inline mote_step_terms_room_t mote_step_terms_room(const mote_conv_step_terms_s8_t *p) {
    const mote_conv_step_t *const of = &p->of;
    mote_step_terms_room_t r;
    r.rows = mote_gradient_span(&of->rows);
    r.cols = mote_gradient_span(&of->cols);
    r.terms = 4 * of->rows.taps * of->cols.taps * p->block;
    r.image = r.terms + (int32_t)sizeof(mote_vector_term_t) * mote_min(of->step.positions, MOTE_STEP_TERMS);
    r.bytes = r.image + r.rows * r.cols * p->block;
    r.channels = p->block;
    return r;
}

/* Channels of the image, with its zero point around it. */
static inline void mote_step_terms_image(const mote_conv_step_t *p, const mote_step_terms_room_t *r, const int8_t *in,
                                         int8_t *to) {
    const int32_t depth = p->depth, channels = r->channels, end = r->cols - p->cols.pad;
    mote_bytes_fill(to, p->zero, r->rows * r->cols * channels);
    for (int32_t y = 0; y < r->rows; y++) {
        const int32_t row = y - p->rows.pad, columns = row < 0 || row >= p->rows.in ? 0 : mote_min(p->cols.in, end);
        for (int32_t x = 0; x < columns; x++) {
            const int32_t at = y * r->cols + p->cols.pad + x;
            mote_bytes_copy(to + at * channels, in + (row * p->cols.in + x) * depth, channels);
        }
    }
}

/* Adds the terms to the sums of all taps. */
static inline void mote_step_terms_flush(const mote_conv_step_terms_s8_t *p, const mote_step_terms_room_t *r,
                                         int32_t count, int8_t *room) {
    const mote_gradient_axis_t *const rows = &p->of.rows, *const cols = &p->of.cols;
    const mote_vector_term_t *const terms = (const mote_vector_term_t *)(const void *)(room + r->terms);
    int32_t *sums = (int32_t *)(void *)room;
    for (int32_t ky = 0; ky < rows->taps; ky++) {
        for (int32_t kx = 0; kx < cols->taps; kx++, sums += r->channels) {
            const int32_t at = ky * rows->spread * r->cols + kx * cols->spread;
            mote_term_sums(terms, count, room + r->image + at * r->channels, r->channels, sums);
        }
    }
}

/* The sums of all taps of one output channel. */
MOTE_NOINLINE MOTE_HOT void mote_step_terms_channel(const mote_conv_step_terms_s8_t *p,
                                                    const mote_step_terms_room_t *r, const int8_t *gradient,
                                                    int8_t *room) {
    const mote_gradient_axis_t *const rows = &p->of.rows, *const cols = &p->of.cols;
    const int32_t all = p->of.step.all, step = cols->stride * r->channels;
    mote_vector_term_t *const terms = (mote_vector_term_t *)(void *)(room + r->terms);
    int32_t total = 0, count = 0;
    for (int32_t i = 0; i < p->of.step.positions; i++) {
        total += gradient[i * all];
    }
    mote_term_fill((int32_t *)(void *)room, -total * p->of.zero, rows->taps * cols->taps * r->channels);
    for (int32_t y = 0; y < rows->out; y++) {
        int32_t at = y * rows->stride * r->cols * r->channels;
        for (int32_t x = 0; x < cols->out; x++, gradient += all, at += step) {
            if (*gradient != 0) {
                terms[count].at = at;
                terms[count++].by = *gradient;
                if (count == MOTE_STEP_TERMS) {
                    mote_step_terms_flush(p, r, count, room);
                    count = 0;
                }
            }
        }
    }
    mote_step_terms_flush(p, r, count, room);
}

/* The steps of the weights of all taps, from `element` on. */
static inline void mote_step_terms_weights(const mote_conv_step_terms_s8_t *p, const mote_step_terms_room_t *r,
                                           const mote_step_channel_t *channel, const int32_t *sums, int32_t element,
                                           int8_t *weights) {
    const mote_step_t *const step = &p->of.step;
    const mote_step_fours_t fours = mote_step_fours_of(channel, step->left);
    int32_t taps = p->of.rows.taps * p->of.cols.taps, count = r->channels;
    if (count == p->of.depth) { /* those of all taps are side by side */
        count *= taps;
        taps = 1;
    }
    for (; taps > 0; taps--, sums += count, element += p->of.depth) {
        mote_step_weights(step, channel, &fours, sums, count, element, weights);
    }
}

static inline void mote_conv_step_terms_s8(const mote_conv_step_terms_s8_t *p, const int8_t *gradient, const int8_t *in,
                                           const int32_t *size, const int32_t *number, int8_t *weights, void *scratch) {
    const mote_conv_step_t *const of = &p->of;
    mote_step_terms_room_t r = mote_step_terms_room(p);
    const int32_t next = of->rows.taps * of->cols.taps * of->depth;
    int8_t *const room = (int8_t *)scratch;
    for (int32_t begin = 0; begin < of->depth; begin += p->block) {
        int32_t element = begin;
        r.channels = mote_min(of->depth - begin, p->block);
        mote_step_terms_image(of, &r, in + begin, room + r.image);
        for (int32_t o = 0; o < of->step.channels; o++, element += next) {
            const mote_step_channel_t channel = mote_step_channel(&of->step, size, number, o);
            mote_step_terms_channel(p, &r, gradient + of->step.first + o, room);
            mote_step_terms_weights(p, &r, &channel, (const int32_t *)scratch, element, weights);
        }
    }
}

static inline void mote_conv_momentum_terms_s8(const mote_conv_momentum_terms_s8_t *p, const int8_t *gradient,
                                               const int8_t *in, const int32_t *size, const int32_t *number,
                                               int8_t *update, int8_t *weights, void *scratch) {
    mote_conv_step_terms_s8(&p->of, gradient, in, size, number, update, scratch);
    mote_momentum_s8(&p->momentum, number, update, weights);
}

#endif
