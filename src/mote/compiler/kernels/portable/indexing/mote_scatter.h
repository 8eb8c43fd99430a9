/* mote_scatter.h: elements put where indices say that are computed at run time. What lies outside is left out; sizes and
 * steps are in bytes. */
#ifndef MOTE_SCATTER_H
#define MOTE_SCATTER_H

#include "mote_index.h"
#include "mote_move.h"

/* Parts that are added to zeros, each where its tuple of indices says. */
typedef struct {
    int32_t bytes; /* of the output */
    int32_t count, depth;
    int32_t run; /* elements of a part */
    const mote_indexed_t *axis;
} mote_scatter_t;

/* For elements of one type, wherever they lie: memory is aligned to words of 32 bits. Sums wrap; `plus` adds two
 * elements. */
#define MOTE_SCATTER(suffix, type, plus) \
    typedef mote_scatter_t mote_scatter_##suffix##_t; \
    MOTE_UNUSED static inline void mote_scatter_##suffix(const mote_scatter_t *p, const void *in, const void *indices, \
                                                         void *out) { \
        const int8_t *from = (const int8_t *)in; \
        memset(out, 0, (size_t)p->bytes); \
        for (int32_t i = 0; i < p->count; i++) { \
            const int32_t at = mote_index_tuple(p->axis, p->depth, indices, 4, i); \
            for (int32_t k = 0; k < p->run; k++, from += sizeof(type)) { \
                if (at >= 0) { \
                    int8_t *const to = (int8_t *)out + at + k * (int32_t)sizeof(type); \
                    type sum, more; \
                    memcpy(&sum, to, sizeof(type)); \
                    memcpy(&more, from, sizeof(type)); \
                    sum = (type)(plus(sum, more)); \
                    memcpy(to, &sum, sizeof(type)); \
                } \
            } \
        } \
    }

#define MOTE_SUM(a, b) ((a) + (b))
#define MOTE_SUM_S32(a, b) ((uint32_t)(a) + (uint32_t)(b))
#define MOTE_SUM_S64(a, b) ((uint64_t)(a) + (uint64_t)(b))
#define MOTE_SUM_BOOL(a, b) ((a) | (b))

/* An output of one value, and others where tuples of indices say, one for each or the same for all. */
typedef struct {
    int32_t elements, width; /* of the output, bytes of one */
    int32_t count, depth, value_step;
    int32_t index_width;
    const mote_indexed_t *axis;
} mote_put_t;

/* One value everywhere. */
static inline void mote_put_everywhere(int32_t elements, int32_t width, const void *value, void *out) {
    if (width == 1) {
        memset(out, *(const int8_t *)value, (size_t)elements);
    } else {
        mote_move_items((const int8_t *)value, (int8_t *)out, elements, 0, width, width);
    }
}

static inline void mote_put(const mote_put_t *p, const void *values, const void *indices, const void *other,
                            void *out) {
    mote_put_everywhere(p->elements, p->width, other, out);
    for (int32_t i = 0; i < p->count; i++) {
        const int32_t at = mote_index_tuple(p->axis, p->depth, indices, p->index_width, i);
        if (at >= 0) {
            mote_move_items((const int8_t *)values + i * p->value_step, (int8_t *)out + at, 1, 0, 0, p->width);
        }
    }
}

/* For each index a line of `depth` elements, one of which has another value than all others: `inner` lines lie one
 * element apart from each other. */
typedef struct {
    int32_t elements, width; /* of the output, bytes of one */
    int32_t outer, depth, inner;
    int32_t index_width;
} mote_one_hot_t;

static inline void mote_one_hot(const mote_one_hot_t *p, const void *indices, const void *on, const void *off,
                                void *out) {
    mote_put_everywhere(p->elements, p->width, off, out);
    for (int32_t o = 0; o < p->outer; o++) {
        for (int32_t i = 0; i < p->inner; i++) {
            const int32_t index = mote_index_low(indices, p->index_width, o * p->inner + i);
            if (index >= 0 && index < p->depth) {
                const int32_t at = (o * p->depth + index) * p->inner + i;
                mote_move_items((const int8_t *)on, (int8_t *)out + at * p->width, 1, 0, 0, p->width);
            }
        }
    }
}

/* The first elements of an axis from the last to the first of them, as many as `lengths` says for each batch. Of the
 * two axes the steps are given, and of what lies outside of them, between them and behind them how often and how far. */
typedef struct {
    int32_t size, step;
    int32_t batches, batch_step;
    int32_t outer, outer_step, between, between_step;
    int32_t run;
    int32_t width; /* bytes of a length */
} mote_reverse_sequence_t;

static inline void mote_reverse_sequence(const mote_reverse_sequence_t *p, const void *in, const void *lengths,
                                         void *out) {
    for (int32_t b = 0; b < p->batches; b++) {
        const int32_t length = mote_index(lengths, p->width, b);
        const int32_t count = length < 0 ? 0 : length > p->size ? p->size : length;
        for (int32_t y = 0; y < p->size; y++) {
            const int32_t source = y < count ? count - 1 - y : y;
            for (int32_t o = 0; o < p->outer; o++) {
                const int32_t at = b * p->batch_step + o * p->outer_step;
                mote_move_items((const int8_t *)in + at + source * p->step, (int8_t *)out + at + y * p->step,
                                p->between, p->between_step, p->between_step, p->run);
            }
        }
    }
}

#endif
