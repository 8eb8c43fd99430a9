/* mote_fft.h: Fourier transforms of real signals, in fixed point with the arithmetic of Kiss FFT, and in float32.
 *
 * A signal of 2 * half samples is a complex signal of half as many. Its transform is computed in place, in stages: those of
 * fixed point divide by their radix, and wrap where sums do not fit. Nothing but the output is needed for it.
 */
#ifndef MOTE_FFT_H
#define MOTE_FFT_H

#include "mote_common.h"

#define MOTE_FFT_STAGES 16

/* Which place of a signal comes next in another order of its digits, each of which counts as far as a radix. */
typedef struct {
    int32_t at, digit[MOTE_FFT_STAGES];
} mote_fft_place_t;

static inline void mote_fft_up(mote_fft_place_t *place, int32_t stages, const int32_t *radix, const int32_t *step) {
    for (int32_t i = 0; i < stages; i++) {
        place->at += step[i];
        if (++place->digit[i] < radix[i]) {
            break;
        }
        place->at -= radix[i] * step[i];
        place->digit[i] = 0;
    }
}

static inline void mote_fft_down(mote_fft_place_t *place, int32_t stages, const int32_t *radix, const int32_t *step) {
    for (int32_t i = 0; i < stages; i++) {
        place->at -= step[i];
        if (--place->digit[i] >= 0) {
            break;
        }
        place->at += radix[i] * step[i];
        place->digit[i] = radix[i] - 1;
    }
}

/* Arithmetic of each type: sums that wrap, rounded products, a share of one in so many, half of a sum. */
static inline int16_t mote_fft_plus_s16(int16_t a, int16_t b) { return (int16_t)((int32_t)a + b); }

static inline int16_t mote_fft_minus_s16(int16_t a, int16_t b) { return (int16_t)((int32_t)a - b); }

static inline int16_t mote_fft_round_s16(int32_t x) { return (int16_t)((x + (1 << 14)) >> 15); }

static inline int16_t mote_fft_times_s16(int16_t a, int16_t b) { return mote_fft_round_s16((int32_t)a * b); }

static inline int16_t mote_fft_share_s16(int16_t a, int32_t radix) { return mote_fft_round_s16(a * (INT16_MAX / radix)); }

static inline int16_t mote_fft_real_s16(int16_t ar, int16_t ai, int16_t br, int16_t bi) {
    return mote_fft_round_s16((int32_t)ar * br - (int32_t)ai * bi);
}

static inline int16_t mote_fft_imaginary_s16(int16_t ar, int16_t ai, int16_t br, int16_t bi) {
    return mote_fft_round_s16((int32_t)ar * bi + (int32_t)ai * br);
}

static inline int16_t mote_fft_mean_s16(int16_t a, int16_t b) { return (int16_t)(((int32_t)a + b) >> 1); }

static inline int16_t mote_fft_mean_minus_s16(int16_t a, int16_t b) { return (int16_t)(((int32_t)a - b) >> 1); }

static inline int16_t mote_fft_half_s16(int16_t a) { return (int16_t)(a >> 1); }

static inline int32_t mote_fft_plus_s32(int32_t a, int32_t b) { return mote_wrapping_add(a, b); }

static inline int32_t mote_fft_minus_s32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a - (uint32_t)b); }

static inline int32_t mote_fft_round_s32(int64_t x) { return (int32_t)((x + ((int32_t)1 << 30)) >> 31); }

static inline int32_t mote_fft_times_s32(int32_t a, int32_t b) { return mote_fft_round_s32((int64_t)a * b); }

static inline int32_t mote_fft_share_s32(int32_t a, int32_t radix) { return mote_fft_times_s32(a, INT32_MAX / radix); }

/* A product of complex numbers where |b| is at most INT32_MAX, as twiddle factors are. */
static inline int32_t mote_fft_real_s32(int32_t ar, int32_t ai, int32_t br, int32_t bi) {
    return mote_fft_round_s32((int64_t)ar * br - (int64_t)ai * bi);
}

static inline int32_t mote_fft_imaginary_s32(int32_t ar, int32_t ai, int32_t br, int32_t bi) {
    return mote_fft_round_s32((int64_t)ar * bi + (int64_t)ai * br);
}

static inline int32_t mote_fft_mean_s32(int32_t a, int32_t b) { return mote_fft_plus_s32(a, b) >> 1; }

static inline int32_t mote_fft_mean_minus_s32(int32_t a, int32_t b) { return mote_fft_minus_s32(a, b) >> 1; }

static inline int32_t mote_fft_half_s32(int32_t a) { return a >> 1; }

static inline float mote_fft_plus_f32(float a, float b) { return a + b; }

static inline float mote_fft_minus_f32(float a, float b) { return a - b; }

static inline float mote_fft_times_f32(float a, float b) { return a * b; }

static inline float mote_fft_share_f32(float a, int32_t radix) {
    (void)radix;
    return a;
}

static inline float mote_fft_real_f32(float ar, float ai, float br, float bi) { return ar * br - ai * bi; }

static inline float mote_fft_imaginary_f32(float ar, float ai, float br, float bi) { return ar * bi + ai * br; }

static inline float mote_fft_mean_f32(float a, float b) { return (a + b) * 0.5f; }

static inline float mote_fft_mean_minus_f32(float a, float b) { return (a - b) * 0.5f; }

static inline float mote_fft_half_f32(float a) { return a * 0.5f; }

/* Only in float32 is a signal scaled in the end. */
#define mote_fft_scale_s16(scale, x, n) ((void)0)
#define mote_fft_scale_s32(scale, x, n) ((void)0)
static inline void mote_fft_scale_f32(float scale, float *x, int32_t n) {
    for (; n > 0; n--) {
        *x++ *= scale;
    }
}

/* The transforms of a type: of real signals, and back. */
#define MOTE_FFT(s, type)                                                                                                  \
    typedef struct {                                                                                                       \
        int32_t half, stages, inverse, samples; /* samples of a signal, which may be fewer than 2 * half */                \
        const int32_t *radix;                   /* of the stages, from the last one to the first */                        \
        const type *roots, *last;               /* of one, of half; and what unfolds a spectrum */                         \
        float scale;                            /* of a real signal from its spectrum, in float32 */                       \
    } mote_rfft_##s##_t;                                                                                                   \
    typedef mote_rfft_##s##_t mote_irfft_##s##_t;                                                                          \
    typedef struct {                                                                                                       \
        type r, i;                                                                                                         \
    } mote_complex_##s##_t;                                                                                                \
                                                                                                                           \
    MOTE_UNUSED static inline mote_complex_##s##_t mote_fft_at_##s(const type *x, int32_t i) {                             \
        const mote_complex_##s##_t found = {x[2 * i], x[2 * i + 1]};                                                       \
        return found;                                                                                                      \
    }                                                                                                                      \
                                                                                                                           \
    MOTE_UNUSED static inline void mote_fft_put_##s(type *x, int32_t i, mote_complex_##s##_t a) {                          \
        x[2 * i] = a.r;                                                                                                    \
        x[2 * i + 1] = a.i;                                                                                                \
    }                                                                                                                      \
                                                                                                                           \
    MOTE_UNUSED static inline mote_complex_##s##_t mote_fft_add_##s(mote_complex_##s##_t a, mote_complex_##s##_t b) {      \
        const mote_complex_##s##_t found = {mote_fft_plus_##s(a.r, b.r), mote_fft_plus_##s(a.i, b.i)};                     \
        return found;                                                                                                      \
    }                                                                                                                      \
                                                                                                                           \
    MOTE_UNUSED static inline mote_complex_##s##_t mote_fft_sub_##s(mote_complex_##s##_t a, mote_complex_##s##_t b) {      \
        const mote_complex_##s##_t found = {mote_fft_minus_##s(a.r, b.r), mote_fft_minus_##s(a.i, b.i)};                   \
        return found;                                                                                                      \
    }                                                                                                                      \
                                                                                                                           \
    MOTE_UNUSED static inline mote_complex_##s##_t mote_fft_mul_##s(mote_complex_##s##_t a, mote_complex_##s##_t b) {      \
        const mote_complex_##s##_t found = {mote_fft_real_##s(a.r, a.i, b.r, b.i),                                         \
                                            mote_fft_imaginary_##s(a.r, a.i, b.r, b.i)};                                   \
        return found;                                                                                                      \
    }                                                                                                                      \
                                                                                                                           \
    /* Element i divided by a radix. */                                                                                    \
    MOTE_UNUSED static inline mote_complex_##s##_t mote_fft_part_##s(const type *x, int32_t i, int32_t radix) {            \
        const mote_complex_##s##_t found = {mote_fft_share_##s(x[2 * i], radix), mote_fft_share_##s(x[2 * i + 1], radix)}; \
        return found;                                                                                                      \
    }                                                                                                                      \
                                                                                                                           \
    /* The same times a root of one. */                                                                                    \
    MOTE_UNUSED static inline mote_complex_##s##_t mote_fft_turned_##s(const type *x, int32_t i, int32_t radix,            \
                                                                       const type *root, int32_t at) {                     \
        return mote_fft_mul_##s(mote_fft_part_##s(x, i, radix), mote_fft_at_##s(root, at));                                \
    }                                                                                                                      \
                                                                                                                           \
    MOTE_UNUSED static inline void mote_fft_two_##s(type *x, int32_t m, const type *root, int32_t step) {                  \
        for (int32_t u = 0; u < m; u++) {                                                                                  \
            const mote_complex_##s##_t a = mote_fft_part_##s(x, u, 2);                                                     \
            const mote_complex_##s##_t b = mote_fft_turned_##s(x, u + m, 2, root, u * step);                               \
            mote_fft_put_##s(x, u, mote_fft_add_##s(a, b));                                                                \
            mote_fft_put_##s(x, u + m, mote_fft_sub_##s(a, b));                                                            \
        }                                                                                                                  \
    }                                                                                                                      \
                                                                                                                           \
    MOTE_UNUSED static inline void mote_fft_three_##s(type *x, int32_t m, const type *root, int32_t step) {                \
        const type imaginary = root[2 * step * m + 1];                                                                     \
        for (int32_t u = 0; u < m; u++) {                                                                                  \
            const mote_complex_##s##_t a = mote_fft_part_##s(x, u, 3);                                                     \
            const mote_complex_##s##_t b = mote_fft_turned_##s(x, u + m, 3, root, u * step);                               \
            const mote_complex_##s##_t c = mote_fft_turned_##s(x, u + 2 * m, 3, root, 2 * u * step);                       \
            const mote_complex_##s##_t total = mote_fft_add_##s(b, c), apart = mote_fft_sub_##s(b, c);                     \
            const type half_r = mote_fft_half_##s(total.r), half_i = mote_fft_half_##s(total.i);                           \
            const mote_complex_##s##_t middle = {mote_fft_minus_##s(a.r, half_r), mote_fft_minus_##s(a.i, half_i)};        \
            const type r = mote_fft_times_##s(apart.r, imaginary), i = mote_fft_times_##s(apart.i, imaginary);             \
            const mote_complex_##s##_t second = {mote_fft_minus_##s(middle.r, i), mote_fft_plus_##s(middle.i, r)};         \
            const mote_complex_##s##_t third = {mote_fft_plus_##s(middle.r, i), mote_fft_minus_##s(middle.i, r)};          \
            mote_fft_put_##s(x, u, mote_fft_add_##s(a, total));                                                            \
            mote_fft_put_##s(x, u + m, second);                                                                            \
            mote_fft_put_##s(x, u + 2 * m, third);                                                                         \
        }                                                                                                                  \
    }                                                                                                                      \
                                                                                                                           \
    MOTE_UNUSED static inline void mote_fft_four_##s(type *x, int32_t m, const type *root, int32_t step,                   \
                                                     int32_t inverse) {                                                    \
        for (int32_t u = 0; u < m; u++) {                                                                                  \
            const mote_complex_##s##_t a = mote_fft_part_##s(x, u, 4);                                                     \
            const mote_complex_##s##_t b = mote_fft_turned_##s(x, u + m, 4, root, u * step);                               \
            const mote_complex_##s##_t c = mote_fft_turned_##s(x, u + 2 * m, 4, root, 2 * u * step);                       \
            const mote_complex_##s##_t d = mote_fft_turned_##s(x, u + 3 * m, 4, root, 3 * u * step);                       \
            const mote_complex_##s##_t ac = mote_fft_add_##s(a, c), apart = mote_fft_sub_##s(a, c);                        \
            const mote_complex_##s##_t bd = mote_fft_add_##s(b, d), across = mote_fft_sub_##s(b, d);                       \
            const mote_complex_##s##_t up = {mote_fft_minus_##s(apart.r, across.i), mote_fft_plus_##s(apart.i, across.r)}; \
            const mote_complex_##s##_t down = {mote_fft_plus_##s(apart.r, across.i),                                       \
                                               mote_fft_minus_##s(apart.i, across.r)};                                     \
            mote_fft_put_##s(x, u, mote_fft_add_##s(ac, bd));                                                              \
            mote_fft_put_##s(x, u + m, inverse ? up : down);                                                               \
            mote_fft_put_##s(x, u + 2 * m, mote_fft_sub_##s(ac, bd));                                                      \
            mote_fft_put_##s(x, u + 3 * m, inverse ? down : up);                                                           \
        }                                                                                                                  \
    }                                                                                                                      \
                                                                                                                           \
    /* x + a * p + b * q, each product rounded. */                                                                         \
    MOTE_UNUSED static inline type mote_fft_sum_##s(type x, type a, type p, type b, type q) {                              \
        return mote_fft_plus_##s(mote_fft_plus_##s(x, mote_fft_times_##s(a, p)), mote_fft_times_##s(b, q));                \
    }                                                                                                                      \
                                                                                                                           \
    MOTE_UNUSED static inline void mote_fft_five_##s(type *x, int32_t m, const type *root, int32_t step) {                 \
        const mote_complex_##s##_t p = mote_fft_at_##s(root, step * m), q = mote_fft_at_##s(root, 2 * step * m);           \
        for (int32_t u = 0; u < m; u++) {                                                                                  \
            const mote_complex_##s##_t a = mote_fft_part_##s(x, u, 5);                                                     \
            const mote_complex_##s##_t b = mote_fft_turned_##s(x, u + m, 5, root, u * step);                               \
            const mote_complex_##s##_t c = mote_fft_turned_##s(x, u + 2 * m, 5, root, 2 * u * step);                       \
            const mote_complex_##s##_t d = mote_fft_turned_##s(x, u + 3 * m, 5, root, 3 * u * step);                       \
            const mote_complex_##s##_t e = mote_fft_turned_##s(x, u + 4 * m, 5, root, 4 * u * step);                       \
            const mote_complex_##s##_t be = mote_fft_add_##s(b, e), b_e = mote_fft_sub_##s(b, e);                          \
            const mote_complex_##s##_t cd = mote_fft_add_##s(c, d), c_d = mote_fft_sub_##s(c, d);                          \
            const mote_complex_##s##_t one = {mote_fft_sum_##s(a.r, be.r, p.r, cd.r, q.r),                                 \
                                              mote_fft_sum_##s(a.i, be.i, p.r, cd.i, q.r)};                                \
            const mote_complex_##s##_t two = {mote_fft_sum_##s(a.r, be.r, q.r, cd.r, p.r),                                 \
                                              mote_fft_sum_##s(a.i, be.i, q.r, cd.i, p.r)};                                \
            const mote_complex_##s##_t across = {mote_fft_sum_##s(0, b_e.i, p.i, c_d.i, q.i),                              \
                                                 mote_fft_minus_##s(0, mote_fft_sum_##s(0, b_e.r, p.i, c_d.r, q.i))};      \
            const mote_complex_##s##_t beyond = {                                                                          \
                mote_fft_minus_##s(mote_fft_times_##s(c_d.i, p.i), mote_fft_times_##s(b_e.i, q.i)),                        \
                mote_fft_minus_##s(mote_fft_times_##s(b_e.r, q.i), mote_fft_times_##s(c_d.r, p.i))};                       \
            mote_fft_put_##s(x, u, mote_fft_add_##s(a, mote_fft_add_##s(be, cd)));                                         \
            mote_fft_put_##s(x, u + m, mote_fft_sub_##s(one, across));                                                     \
            mote_fft_put_##s(x, u + 2 * m, mote_fft_add_##s(two, beyond));                                                 \
            mote_fft_put_##s(x, u + 3 * m, mote_fft_sub_##s(two, beyond));                                                 \
            mote_fft_put_##s(x, u + 4 * m, mote_fft_add_##s(one, across));                                                 \
        }                                                                                                                  \
    }                                                                                                                      \
                                                                                                                           \
    /* The complex transform in place, of a signal whose elements are in the order of the digits. */                       \
    MOTE_UNUSED static void mote_fft_##s(const mote_rfft_##s##_t *p, type *x) {                                            \
        int32_t m = 1;                                                                                                     \
        for (int32_t i = p->stages - 1; i >= 0; i--) {                                                                     \
            const int32_t radix = p->radix[i], length = radix * m, blocks = p->half / length;                              \
            for (int32_t b = 0; b < blocks; b++) {                                                                         \
                type *const block = x + 2 * b * length;                                                                    \
                if (radix == 4) {                                                                                          \
                    mote_fft_four_##s(block, m, p->roots, blocks, p->inverse);                                             \
                } else if (radix == 2) {                                                                                   \
                    mote_fft_two_##s(block, m, p->roots, blocks);                                                          \
                } else if (radix == 3) {                                                                                   \
                    mote_fft_three_##s(block, m, p->roots, blocks);                                                        \
                } else {                                                                                                   \
                    mote_fft_five_##s(block, m, p->roots, blocks);                                                         \
                }                                                                                                          \
            }                                                                                                              \
            m = length;                                                                                                    \
        }                                                                                                                  \
    }                                                                                                                      \
                                                                                                                           \
    /* The spectrum of a real signal from the transform of its even and odd samples, in place. */                          \
    MOTE_UNUSED static void mote_fft_unfold_##s(const mote_rfft_##s##_t *p, type *x) {                                     \
        const int32_t n = p->half;                                                                                         \
        const mote_complex_##s##_t first = mote_fft_part_##s(x, 0, 2);                                                     \
        const mote_complex_##s##_t low = {mote_fft_plus_##s(first.r, first.i), 0};                                         \
        const mote_complex_##s##_t high = {mote_fft_minus_##s(first.r, first.i), 0};                                       \
        mote_fft_put_##s(x, 0, low);                                                                                       \
        mote_fft_put_##s(x, n, high);                                                                                      \
        for (int32_t k = 1; k <= n / 2; k++) {                                                                             \
            const mote_complex_##s##_t near = mote_fft_part_##s(x, k, 2);                                                  \
            const mote_complex_##s##_t far = {                                                                             \
                mote_fft_share_##s(x[2 * (n - k)], 2),                                                                     \
                mote_fft_share_##s(mote_fft_minus_##s(0, x[2 * (n - k) + 1]), 2)};                                         \
            const mote_complex_##s##_t total = mote_fft_add_##s(near, far);                                                \
            const mote_complex_##s##_t turned =                                                                            \
                mote_fft_mul_##s(mote_fft_sub_##s(near, far), mote_fft_at_##s(p->last, k - 1));                            \
            const mote_complex_##s##_t one = {mote_fft_mean_##s(total.r, turned.r), mote_fft_mean_##s(total.i, turned.i)}; \
            const mote_complex_##s##_t other = {mote_fft_mean_minus_##s(total.r, turned.r),                                \
                                                mote_fft_mean_minus_##s(turned.i, total.i)};                               \
            mote_fft_put_##s(x, k, one);                                                                                   \
            mote_fft_put_##s(x, n - k, other);                                                                             \
        }                                                                                                                  \
    }                                                                                                                      \
                                                                                                                           \
    MOTE_UNUSED static void mote_rfft_##s(const mote_rfft_##s##_t *p, const type *in, type *out, int32_t vectors) {        \
        int32_t radix[MOTE_FFT_STAGES], step[MOTE_FFT_STAGES];                                                             \
        int32_t stride = p->half;                                                                                          \
        for (int32_t i = 0; i < p->stages; i++) {                                                                          \
            radix[i] = p->radix[p->stages - 1 - i];                                                                        \
            stride /= radix[i];                                                                                            \
            step[i] = stride;                                                                                              \
        }                                                                                                                  \
        for (; vectors > 0; vectors--, in += p->samples, out += 2 * p->half + 2) {                                         \
            mote_fft_place_t place = {0, {0}};                                                                             \
            for (int32_t i = 0; i < p->half; i++) {                                                                        \
                out[2 * i] = 2 * place.at < p->samples ? in[2 * place.at] : 0;                                             \
                out[2 * i + 1] = 2 * place.at + 1 < p->samples ? in[2 * place.at + 1] : 0;                                 \
                mote_fft_up(&place, p->stages, radix, step);                                                               \
            }                                                                                                              \
            mote_fft_##s(p, out);                                                                                          \
            mote_fft_unfold_##s(p, out);                                                                                   \
        }                                                                                                                  \
    }                                                                                                                      \
                                                                                                                           \
    MOTE_UNUSED static void mote_irfft_##s(const mote_irfft_##s##_t *p, const type *in, type *out, int32_t vectors) {      \
        const int32_t n = p->half;                                                                                         \
        int32_t step[MOTE_FFT_STAGES];                                                                                     \
        int32_t stride = n;                                                                                                \
        mote_fft_place_t last = {n - 1, {0}};                                                                              \
        for (int32_t i = 0; i < p->stages; i++) {                                                                          \
            stride /= p->radix[i];                                                                                         \
            step[i] = stride;                                                                                              \
            last.digit[i] = p->radix[i] - 1;                                                                               \
        }                                                                                                                  \
        for (; vectors > 0; vectors--, in += 2 * n + 2, out += 2 * n) {                                                    \
            mote_fft_place_t up = {0, {0}}, down = last;                                                                   \
            const mote_complex_##s##_t first = {                                                                           \
                mote_fft_share_##s(mote_fft_plus_##s(in[0], in[2 * n]), 2),                                                \
                mote_fft_share_##s(mote_fft_minus_##s(in[0], in[2 * n]), 2)};                                              \
            mote_fft_put_##s(out, 0, first);                                                                               \
            for (int32_t k = 1; k <= n / 2; k++) {                                                                         \
                const mote_complex_##s##_t near = mote_fft_part_##s(in, k, 2);                                             \
                const mote_complex_##s##_t far = {                                                                         \
                    mote_fft_share_##s(in[2 * (n - k)], 2),                                                                \
                    mote_fft_share_##s(mote_fft_minus_##s(0, in[2 * (n - k) + 1]), 2)};                                    \
                const mote_complex_##s##_t total = mote_fft_add_##s(near, far);                                            \
                const mote_complex_##s##_t turned =                                                                        \
                    mote_fft_mul_##s(mote_fft_sub_##s(near, far), mote_fft_at_##s(p->last, k - 1));                        \
                const mote_complex_##s##_t apart = mote_fft_sub_##s(total, turned);                                        \
                const mote_complex_##s##_t other = {apart.r, mote_fft_minus_##s(0, apart.i)};                              \
                mote_fft_up(&up, p->stages, p->radix, step);                                                               \
                mote_fft_put_##s(out, up.at, mote_fft_add_##s(total, turned));                                             \
                mote_fft_put_##s(out, down.at, other);                                                                     \
                mote_fft_down(&down, p->stages, p->radix, step);                                                           \
            }                                                                                                              \
            mote_fft_##s(p, out);                                                                                          \
            mote_fft_scale_##s(p->scale, out, 2 * n);                                                                      \
        }                                                                                                                  \
    }

#endif
