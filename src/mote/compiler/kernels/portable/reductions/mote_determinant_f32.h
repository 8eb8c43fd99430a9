/* mote_determinant_f32.h: determinants of square matrices, by elimination with the largest element of each column. */
#ifndef MOTE_DETERMINANT_F32_H
#define MOTE_DETERMINANT_F32_H

#include "mote_math.h"

typedef struct {
    int32_t count, size; /* of matrices, and of their rows */
} mote_determinant_f32_t;

/* The row from k on whose element in column k is the largest. */
static inline int32_t mote_pivot(const float *m, int32_t n, int32_t k) {
    int32_t best = k;
    for (int32_t i = k + 1; i < n; i++) {
        best = mote_fabsf(m[i * n + k]) > mote_fabsf(m[best * n + k]) ? i : best;
    }
    return best;
}

static inline void mote_swap_rows(float *a, float *b, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        const float x = a[i];
        a[i] = b[i];
        b[i] = x;
    }
}

/* `m` is worked in: it has room for one matrix. */
static inline void mote_determinant_f32(const mote_determinant_f32_t *p, const float *in, float *out, void *scratch) {
    const int32_t n = p->size;
    float *const m = (float *)scratch;
    for (int32_t i = 0; i < p->count; i++, in += n * n) {
        float product = 1.0f;
        memcpy(m, in, (size_t)(n * n) * sizeof(float));
        for (int32_t k = 0; k < n; k++) {
            const int32_t best = mote_pivot(m, n, k);
            if (best != k) {
                mote_swap_rows(m + best * n, m + k * n, n);
                product = -product;
            }
            product *= m[k * n + k];
            for (int32_t r = k + 1; r < n && m[k * n + k] != 0.0f; r++) {
                const float share = m[r * n + k] / m[k * n + k];
                for (int32_t c = k; c < n; c++) {
                    m[r * n + c] -= share * m[k * n + c];
                }
            }
        }
        *out++ = product;
    }
}

#endif
