/* mote_reduce.h: one result for all elements along some axes: sums, products, extremes, means.
 *
 * Macros define a function for what a model needs: `T` is the type of the elements, `A` what results are gathered in,
 * `begin` what they begin with (`x` points to the first element), `STEP(sum, value)` how an element is added and
 * `FINISH(p, sum)` what becomes of it in the end. Sums and products of integers are unsigned inside: they wrap. */
#ifndef MOTE_REDUCE_H
#define MOTE_REDUCE_H

#include "mote_loop.h"
#include "mote_running_sums.h"

/* Axes that lie next to one another: `count` elements for each result, `inner` results side by side. */
typedef struct {
    int32_t count, inner;
} mote_reduce_t;

/* Any axes: three loops over what is kept, three over what is reduced. */
typedef struct {
    int32_t inner;
    const mote_loop_t *kept, *reduced;
} mote_reduce_loops_t;

/* All rows, one at a time: a row is `lines` times `count` elements for each of `inner` results. It is for the results
 * of place row / below % kept. */
typedef struct {
    int32_t count, inner, lines;
    int32_t below, kept;
} mote_reduce_add_t;

/* How a sum of quantized values becomes one. */
typedef struct {
    int32_t bias, mult, shift, zero;
} mote_reduce_scale_t;

typedef struct {
    mote_reduce_t over;
    mote_reduce_scale_t scale;
} mote_reduce_scaled_t;

typedef struct {
    mote_reduce_loops_t over;
    mote_reduce_scale_t scale;
} mote_reduce_scaled_loops_t;

typedef struct {
    mote_reduce_add_t over;
    mote_reduce_scale_t scale;
} mote_reduce_scaled_add_t;

/* A mean of integers that are not quantized. */
typedef struct {
    mote_reduce_t over;
    int32_t divisor;
} mote_reduce_divided_t;

typedef struct {
    mote_reduce_loops_t over;
    int32_t divisor;
} mote_reduce_divided_loops_t;

/* A struct with nothing to finish results with. */
typedef struct {
    mote_reduce_t over;
} mote_reduce_plain_t;

typedef struct {
    mote_reduce_loops_t over;
} mote_reduce_plain_loops_t;

typedef struct {
    mote_reduce_add_t over;
} mote_reduce_plain_add_t;

#define MOTE_REDUCE_STEP_PLUS(sum, value) ((sum) + (value))
#define MOTE_REDUCE_STEP_PLUS_U32(sum, value) mote_reduce_plus(sum, value)
#define MOTE_REDUCE_STEP_PLUS_U64(sum, value) ((sum) + (uint64_t)(value))
#define MOTE_REDUCE_STEP_TIMES(sum, value) ((sum) * (value))
#define MOTE_REDUCE_STEP_TIMES_U32(sum, value) ((sum) * (uint32_t)(value))
#define MOTE_REDUCE_STEP_TIMES_U64(sum, value) ((sum) * (uint64_t)(value))
#define MOTE_REDUCE_STEP_MOST(most, value) ((value) > (most) ? (value) : (most))
#define MOTE_REDUCE_STEP_LEAST(least, value) ((value) < (least) ? (value) : (least))

#define MOTE_REDUCED_F32(p, sum) (sum)
#define MOTE_REDUCED_S8(p, sum) ((int8_t)(sum))
#define MOTE_REDUCED_S16(p, sum) ((int16_t)(sum))
#define MOTE_REDUCED_S32(p, sum) ((int32_t)(sum))
#define MOTE_REDUCED_S64(p, sum) ((int64_t)(sum))
#define MOTE_REDUCED_U8(p, sum) ((uint8_t)(sum))
#define MOTE_REDUCED_SCALED_S8(p, sum) ((int8_t)mote_reduce_scaled(&(p)->scale, sum, -128, 127))
#define MOTE_REDUCED_SCALED_S16(p, sum) ((int16_t)mote_reduce_scaled(&(p)->scale, sum, -32768, 32767))
#define MOTE_REDUCED_MEAN_S32(p, sum) ((int32_t)((int64_t)(sum) / (p)->divisor))
#define MOTE_REDUCED_MEAN_S64(p, sum) ((int64_t)(sum) / (p)->divisor)

/* A function: of the sum itself GCC would warn where the value has fewer bits. */
static inline uint32_t mote_reduce_plus(uint32_t sum, int32_t value) {
    return sum + (uint32_t)value;
}

static inline int32_t mote_reduce_scaled(const mote_reduce_scale_t *s, uint32_t sum, int32_t lo, int32_t hi) {
    const uint32_t scaled = (uint32_t)mote_rescale((int32_t)sum, s->mult, s->shift);
    const int32_t y = (int32_t)(scaled + (uint32_t)s->zero);
    return y < lo ? lo : y > hi ? hi : y;
}

/* A run of `units` times `inner` results, four neighbours at a time. (What begins with its first element has no
 * neighbours.) */
#define MOTE_REDUCE(name, params, T, A, begin, STEP, FINISH) \
    typedef params mote_##name##_t; \
    MOTE_UNUSED static inline void mote_##name(const params *p, const T *in, T *out, int32_t units) { \
        const int32_t count = p->over.count, inner = p->over.inner; \
        for (; units > 0; units--, in += (count - 1) * inner) { \
            int32_t c = 0; \
            for (; c + 4 <= inner; c += 4, in += 4, out += 4) { \
                const T *x = in; \
                A s0 = begin, s1 = s0, s2 = s0, s3 = s0; \
                for (int32_t n = count; n > 0; n--, x += inner) { \
                    s0 = STEP(s0, x[0]); \
                    s1 = STEP(s1, x[1]); \
                    s2 = STEP(s2, x[2]); \
                    s3 = STEP(s3, x[3]); \
                } \
                out[0] = FINISH(p, s0); \
                out[1] = FINISH(p, s1); \
                out[2] = FINISH(p, s2); \
                out[3] = FINISH(p, s3); \
            } \
            for (; c < inner; c++, in++) { \
                const T *x = in; \
                A sum = begin; \
                for (int32_t n = count; n > 0; n--, x += inner) { \
                    sum = STEP(sum, *x); \
                } \
                *out++ = FINISH(p, sum); \
            } \
        } \
    }

#define MOTE_REDUCE_LOOPS(name, params, T, A, begin, STEP, FINISH) \
    typedef params mote_##name##_t; \
    static inline T mote_##name##_one(const params *p, const T *x) { \
        const mote_loop_t *r = p->over.reduced; \
        A sum = begin; \
        for (int32_t i = 0; i < r[0].size; i++) { \
            for (int32_t j = 0; j < r[1].size; j++) { \
                const T *v = x + i * r[0].step + j * r[1].step; \
                for (int32_t n = r[2].size; n > 0; n--, v += r[2].step) { \
                    sum = STEP(sum, *v); \
                } \
            } \
        } \
        return FINISH(p, sum); \
    } \
    MOTE_REDUCE_EACH(name, params, T)

/* All results, by what computes one. */
#define MOTE_REDUCE_EACH(name, params, T) \
    MOTE_UNUSED static inline void mote_##name(const params *p, const T *in, T *out) { \
        const mote_loop_t *k = p->over.kept; \
        for (int32_t i = 0; i < k[0].size; i++) { \
            for (int32_t j = 0; j < k[1].size; j++) { \
                for (int32_t l = 0; l < k[2].size; l++) { \
                    const T *x = in + i * k[0].step + j * k[1].step + l * k[2].step; \
                    for (int32_t c = 0; c < p->over.inner; c++) { \
                        *out++ = mote_##name##_one(p, x + c); \
                    } \
                } \
            } \
        } \
    }

/* The output may lie where the sums begin, so that results are stored byte by byte. */
#define MOTE_REDUCE_ADD(name, params, T, A, begin, STEP, FINISH) \
    typedef params mote_##name##_t; \
    MOTE_UNUSED static inline void mote_##name(const params *p, const T *row, int32_t tap, int32_t part, A *sums, \
                                               T *out) { \
        const mote_reduce_add_t *o = &p->over; \
        const int32_t inner = o->inner, size = o->lines * inner, all = o->kept * size; \
        A *to = sums + tap / o->below % o->kept * size; \
        if (part & MOTE_FIRST) { \
            for (int32_t i = 0; i < all; i++) { \
                sums[i] = begin; \
            } \
        } \
        for (int32_t i = 0; i < o->lines; i++, row += (o->count - 1) * inner) { \
            for (int32_t c = 0; c < inner; c++, row++, to++) { \
                const T *x = row; \
                A sum = *to; \
                for (int32_t n = o->count; n > 0; n--, x += inner) { \
                    sum = STEP(sum, *x); \
                } \
                *to = sum; \
            } \
        } \
        if (part & MOTE_LAST) { \
            for (int32_t i = 0; i < all; i++) { \
                const T y = FINISH(p, sums[i]); \
                memcpy(out + i, &y, sizeof y); \
            } \
        } \
    }

/* Products of quantized values, scaled one by one: by 15 bits and a shift, rounding halves up. What does not fit 32 bits
 * wraps. */
typedef struct {
    mote_reduce_loops_t over;
    int32_t zero, mult, shift, out_zero;
} mote_reduce_prod_t;

static inline int32_t mote_reduce_prod_scaled(const mote_reduce_prod_t *p, int64_t product) {
    const int64_t half = (int64_t)1 << (p->shift - 1);
    return (int32_t)(uint32_t)((product * p->mult + half) >> p->shift);
}

#define MOTE_REDUCE_PROD(name, T, least, most) \
    typedef mote_reduce_prod_t mote_##name##_t; \
    static inline T mote_##name##_one(const mote_reduce_prod_t *p, const T *x) { \
        const mote_loop_t *r = p->over.reduced; \
        int32_t product = *x - p->zero, first = 1, y; \
        for (int32_t i = 0; i < r[0].size; i++) { \
            for (int32_t j = 0; j < r[1].size; j++) { \
                const T *v = x + i * r[0].step + j * r[1].step; \
                for (int32_t n = r[2].size; n > 0; n--, v += r[2].step) { \
                    product = first ? product : mote_reduce_prod_scaled(p, (int64_t)product * (*v - p->zero)); \
                    first = 0; \
                } \
            } \
        } \
        y = (int32_t)((uint32_t)mote_reduce_prod_scaled(p, product) + (uint32_t)p->out_zero); \
        return (T)(y < least ? least : y > most ? most : y); \
    } \
    MOTE_REDUCE_EACH(name, mote_reduce_prod_t, T)

#endif
