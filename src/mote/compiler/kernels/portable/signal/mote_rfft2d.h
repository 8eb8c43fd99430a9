/* mote_rfft2d.h: spectra of real images, and the real numbers of complex ones. */
#ifndef MOTE_RFFT2D_H
#define MOTE_RFFT2D_H

#include "mote_fft.h"
#include "mote_math.h"

/* After MOTE_FFT(f32, float). Rows first, then columns, in working memory for one of them. */
#define MOTE_RFFT2D(name)                                                                                         \
    typedef struct {                                                                                              \
        int32_t in_rows, in_columns; /* of an image */                                                            \
        int32_t rows, used, columns; /* of its spectrum, and how many rows and samples of the image go into it */ \
        mote_rfft_f32_t row, column;                                                                              \
    } mote_##name##_t;                                                                                            \
                                                                                                                  \
    MOTE_UNUSED static void mote_##name##_column(const mote_##name##_t *p, float *x, float *column) {             \
        const mote_rfft_f32_t *const q = &p->column;                                                              \
        int32_t radix[MOTE_FFT_STAGES], step[MOTE_FFT_STAGES];                                                    \
        int32_t stride = q->half;                                                                                 \
        mote_fft_place_t place = {0, {0}};                                                                        \
        for (int32_t i = 0; i < q->stages; i++) {                                                                 \
            radix[i] = q->radix[q->stages - 1 - i];                                                               \
            stride /= radix[i];                                                                                   \
            step[i] = stride;                                                                                     \
        }                                                                                                         \
        for (int32_t i = 0; i < q->half; i++) {                                                                   \
            mote_fft_put_f32(column, i, mote_fft_at_f32(x, place.at * p->columns));                               \
            mote_fft_up(&place, q->stages, radix, step);                                                          \
        }                                                                                                         \
        mote_fft_f32(q, column);                                                                                  \
        for (int32_t i = 0; i < q->half; i++) {                                                                   \
            mote_fft_put_f32(x, i * p->columns, mote_fft_at_f32(column, i));                                      \
        }                                                                                                         \
    }                                                                                                             \
                                                                                                                  \
    MOTE_UNUSED static void mote_##name(const mote_##name##_t *p, const float *in, void *spectra, int32_t images, \
                                        void *scratch) {                                                          \
        float *out = (float *)spectra;                                                                            \
        for (; images > 0; images--, in += p->in_rows * p->in_columns, out += 2 * p->rows * p->columns) {         \
            for (int32_t y = 0; y < p->used; y++) {                                                               \
                mote_rfft_f32(&p->row, in + y * p->in_columns, out + 2 * y * p->columns, 1);                      \
            }                                                                                                     \
            memset(out + 2 * p->used * p->columns, 0,                                                             \
                   2 * (size_t)((p->rows - p->used) * p->columns) * sizeof(float));                               \
            for (int32_t x = 0; x < p->columns && p->rows > 1; x++) {                                             \
                mote_##name##_column(p, out + 2 * x, (float *)scratch);                                           \
            }                                                                                                     \
        }                                                                                                         \
    }

typedef struct {
    int32_t unused;
} mote_complex_abs_t;

typedef mote_complex_abs_t mote_real_t;
typedef mote_complex_abs_t mote_imag_t;

/* The larger part is taken out of the root, so that nothing overflows. */
static inline void mote_complex_abs(const mote_complex_abs_t *p, const void *in, float *out, int32_t n) {
    const float *x = (const float *)in;
    (void)p;
    for (; n > 0; n--, x += 2) {
        const float a = x[0] < 0.0f ? -x[0] : x[0], b = x[1] < 0.0f ? -x[1] : x[1];
        const float large = a > b ? a : b, small = a > b ? b : a;
        const float share = large > 0.0f ? small / large : 0.0f;
        *out++ = large * mote_sqrtf(1.0f + share * share);
    }
}

static inline void mote_real(const mote_real_t *p, const void *in, float *out, int32_t n) {
    const float *x = (const float *)in;
    (void)p;
    for (int32_t i = 0; i < n; i++) {
        out[i] = x[2 * i];
    }
}

static inline void mote_imag(const mote_imag_t *p, const void *in, float *out, int32_t n) {
    const float *x = (const float *)in;
    (void)p;
    for (int32_t i = 0; i < n; i++) {
        out[i] = x[2 * i + 1];
    }
}

#endif
