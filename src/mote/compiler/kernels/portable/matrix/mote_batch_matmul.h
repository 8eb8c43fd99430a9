/* mote_batch_matmul.h: products of matrices, which may both be computed, and lie either way round.
 *
 * An output row is a whole product, or one line of it where tensors have two axes. Four columns are computed at once,
 * so that what is read from the left matrix is used four times. */
#ifndef MOTE_BATCH_MATMUL_H
#define MOTE_BATCH_MATMUL_H

#include "mote_broadcast.h"
#include "mote_matmul_s8.h"
#include "mote_wide.h"

typedef struct {
    mote_broadcast_t walk;          /* where the matrices of an output row begin; a run is an output row */
    int32_t rows, depth, columns;   /* of an output row */
    int32_t left_line, left_step;   /* elements of the left matrix from one row to the next, and along a sum */
    int32_t right_line, right_step; /* of the right one from one column to the next, and along a sum */
} mote_matmul_t;

/* Sums that are the results. */
typedef struct {
    mote_matmul_t size;
} mote_matmul_plain_t;

/* Sums of 64 bits that become int16. */
typedef struct {
    mote_matmul_t size;
    mote_wide_t scale;
} mote_matmul_wide_t;

typedef struct {
    mote_matmul_t size;
    int32_t left_zero, right_zero;
    int32_t mult, shift;
    mote_output_t output;
} mote_matmul_s8_t;

/* What the left matrix holds for the number zero; how sums are added up; and what they become, where `all` is the sum
 * of what was read from the left matrix. */
#define MOTE_MATMUL_NO_ZERO(p) 0
#define MOTE_MATMUL_LEFT_ZERO(p) (p)->left_zero
#define MOTE_MATMUL_ADD(a, b) ((a) + (b))
#define MOTE_MATMUL_PLAIN(p, sum, all) (sum)
#define MOTE_MATMUL_WIDE(p, sum, all) \
    mote_clamp_s16(mote_rescale_wide(sum, (p)->scale.mult, (p)->scale.shift), -32768, 32767)
#if MOTE_SUMS_WRAP
#define MOTE_MATMUL_S8(p, sum, all) \
    mote_requantize((int32_t)((uint32_t)(sum) - (uint32_t)(p)->right_zero * (uint32_t)(all)), (p)->mult, (p)->shift, \
                    (p)->output)
#else
#define MOTE_MATMUL_S8(p, sum, all) \
    mote_requantize((sum) - (p)->right_zero * (all), (p)->mult, (p)->shift, (p)->output)
#endif

/* Adds up as many products as it can of a row whose elements lie one after another with four columns, and says how many
 * those are: none, or those of int8 columns whose elements lie so as well. */
#define MOTE_MATMUL_NO_RUN(a, b, line, step, n, zero, sums, all) 0
#ifdef mote_matmul_run_s8
#define MOTE_MATMUL_RUN_S8(a, b, line, step, n, zero, sums, all) \
    ((step) == 1 ? mote_matmul_run_s8(a, b, line, n, zero, sums, all) : 0)
#else
#define MOTE_MATMUL_RUN_S8 MOTE_MATMUL_NO_RUN
#endif

/* Products are of the type `each_t`, and are added up in `sum_t`. */
#define MOTE_BATCH_MATMUL(name, params_t, left_t, right_t, each_t, sum_t, out_t, zero_of, plus, finish, run) \
    typedef params_t mote_##name##_t; \
\
    /* A sum: `a` is a row of the left matrix, `b` a column of the right one. */ \
    MOTE_UNUSED static inline out_t mote_##name##_one(const mote_##name##_t *p, const left_t *a, const right_t *b) { \
        const int32_t left = p->size.left_step, right = p->size.right_step; \
        const each_t zero = zero_of(p); \
        sum_t sum = 0; \
        each_t all = 0; \
        for (int32_t k = p->size.depth; k > 0; k--, a += left, b += right) { \
            const each_t x = *a - zero; \
            sum = plus(sum, x * *b); \
            all = plus(all, x); \
        } \
        (void)all; \
        return finish(p, sum, all); \
    } \
\
    /* Four sums, of neighbouring columns. */ \
    MOTE_NOINLINE void mote_##name##_four(const mote_##name##_t *p, const left_t *a, const right_t *b, out_t *out) { \
        const int32_t left = p->size.left_step, right = p->size.right_step, line = p->size.right_line; \
        const right_t *const b1 = b + line, *const b2 = b1 + line, *const b3 = b2 + line; \
        const each_t zero = zero_of(p); \
        sum_t sums[4] = {0}; \
        each_t all = 0; \
        const int32_t done = left == 1 ? run(a, b, line, right, p->size.depth, zero, sums, &all) : 0; \
        int32_t at = done * right; \
        sum_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3]; \
        a += done; \
        for (int32_t k = p->size.depth - done; k > 0; k--, a += left, at += right) { \
            const each_t x = *a - zero; \
            s0 = plus(s0, x * b[at]); \
            s1 = plus(s1, x * b1[at]); \
            s2 = plus(s2, x * b2[at]); \
            s3 = plus(s3, x * b3[at]); \
            all = plus(all, x); \
        } \
        (void)all; \
        out[0] = finish(p, s0, all); \
        out[1] = finish(p, s1, all); \
        out[2] = finish(p, s2, all); \
        out[3] = finish(p, s3, all); \
    } \
\
    MOTE_UNUSED static inline void mote_##name(const mote_##name##_t *p, const left_t *left, const right_t *right, \
                                               out_t *out, int32_t lo, int32_t hi) { \
        const mote_broadcast_t *walk = &p->size.walk; \
        MOTE_FOR_RUNS(walk, at, out, lo, hi) { \
            const left_t *a = left + at.a; \
            out_t *to = out; \
            for (int32_t y = p->size.rows; y > 0; y--, a += p->size.left_line) { \
                const right_t *b = right + at.b; \
                int32_t c = p->size.columns; \
                for (; c >= 4; c -= 4, b += 4 * p->size.right_line, to += 4) { \
                    mote_##name##_four(p, a, b, to); \
                } \
                for (; c > 0; c--, b += p->size.right_line) { \
                    *to++ = mote_##name##_one(p, a, b); \
                } \
            } \
        } \
    }

/* The same kernel with a function for one line of a product of two matrices whose lines may lie anywhere: rows[0] is a
 * line of the left matrix, those behind it are all lines of the right one, its columns where it is turned. */
#define MOTE_BATCH_MATMUL_BY_LINES(name, way, left_t, right_t, out_t) \
    typedef mote_##name##_t mote_##name##_##way##_t; \
    MOTE_UNUSED static inline void mote_##name##_##way(const mote_##name##_##way##_t *p, const left_t *left, \
                                                        const right_t *right, out_t *out, int32_t lo, int32_t hi) { \
        mote_##name(p, left, right, out, lo, hi); \
    }

#define MOTE_BATCH_MATMUL_TURNED(name, left_t, right_t, out_t) \
    MOTE_BATCH_MATMUL_BY_LINES(name, turned, left_t, right_t, out_t) \
    MOTE_UNUSED static inline void mote_##name##_turned_row(const mote_##name##_turned_t *p, \
                                                            const left_t *const *rows, out_t *out) { \
        for (int32_t c = 0; c < p->size.columns; c++) { \
            out[c] = mote_##name##_one(p, rows[0], rows[1 + c]); \
        } \
    }

#define MOTE_BATCH_MATMUL_LINES(name, left_t, right_t, each_t, sum_t, out_t, zero_of, plus, finish) \
    MOTE_BATCH_MATMUL_BY_LINES(name, lines, left_t, right_t, out_t) \
    MOTE_UNUSED static inline void mote_##name##_lines_row(const mote_##name##_lines_t *p, const left_t *const *rows, \
                                                           out_t *out) { \
        const each_t zero = zero_of(p); \
        for (int32_t c = 0; c < p->size.columns; c++) { \
            sum_t sum = 0; \
            each_t all = 0; \
            for (int32_t k = 0; k < p->size.depth; k++) { \
                const each_t x = rows[0][k] - zero; \
                sum = plus(sum, x * rows[1 + k][c]); \
                all = plus(all, x); \
            } \
            (void)all; \
            out[c] = finish(p, sum, all); \
        } \
    }

#endif
