/* mote_pool_even_s8.h: int8 averages of windows as ONNX Runtime computes them: real numbers are added up in their order
 * in single precision, divided by their number and by the output's scale, and rounded with its zero point. */
#ifndef MOTE_POOL_EVEN_S8_H
#define MOTE_POOL_EVEN_S8_H

#include "mote_even_real.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t channels;
    int32_t count; /* of the numbers in a window, or 0: those inside the image */
    int32_t base;  /* what the runtime's values are more */
    float scale, zero;
    const float *reals; /* what values stand for, from -128 up */
} mote_pool_even_s8_t;

MOTE_NOINLINE void mote_pool_even_s8_row(const mote_pool_even_s8_t *p, const int8_t *const *rows, int8_t *out) {
    const mote_span_t *s = &p->cols;
    const int32_t channels = p->channels;
    int32_t inside = 0;
    for (int32_t k = 0; k < p->rows.taps; k++) {
        inside += rows[k] != NULL;
    }
    for (int32_t x = 0; x < s->out_size; x++) {
        const int32_t first = x * s->step - s->pad, lo = mote_span_lo(s, first), hi = mote_span_hi(s, first);
        const float count = (float)(p->count != 0 ? p->count : inside * (hi - lo));
        for (int32_t c = 0; c < channels; c++) {
            float sum = 0.0f;
            for (int32_t k = 0; k < p->rows.taps; k++) {
                for (int32_t t = lo; rows[k] != NULL && t < hi; t++) {
                    sum += p->reals[rows[k][(first + t * s->spread) * channels + c] + 128];
                }
            }
            *out++ = mote_clamp(mote_round_even(sum / count / p->scale + p->zero, 1024.0f) - p->base, -128, 127);
        }
    }
}

MOTE_BY_ROWS(pool_even_s8, int8_t, int8_t, s8, rows)

#endif
