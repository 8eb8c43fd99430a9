/* mote_pool_upward_s8.h: int8 average pooling over any window that rounds halves up, as uint8 models do. */
#ifndef MOTE_POOL_UPWARD_S8_H
#define MOTE_POOL_UPWARD_S8_H

#include "mote_pool_s8.h"

typedef mote_pool_s8_t mote_avg_pool_upward_s8_t;

static inline void mote_avg_pool_upward_s8_row(const mote_avg_pool_upward_s8_t *p, const int8_t *const *rows,
                                               int8_t *out) {
    const mote_span_t *s = &p->cols;
    const int32_t channels = p->channels, taps = p->rows.taps;
    int32_t inside = 0;
    for (int32_t k = 0; k < taps; k++) {
        inside += rows[k] != NULL;
    }
    for (int32_t x = 0; x < s->out_size; x++) {
        const int32_t first = x * s->step - s->pad;
        const int32_t lo = mote_span_lo(s, first), n = mote_span_hi(s, first) - lo;
        const int32_t start = (first + lo) * channels;
        mote_average_t average = mote_average_of(n * inside);
        int32_t c = 0;
        average.even = 0; /* negative halves are no exception */
        for (; c + 4 <= channels; c += 4, out += 4) {
            int32_t sum[4] = {0, 0, 0, 0};
            mote_sum_4_rows(rows, taps, start + c, channels, n, sum);
            for (int32_t i = 0; i < 4; i++) {
                out[i] = mote_clamp(mote_average(sum[i], &average), p->lo, p->hi);
            }
        }
        for (; c < channels; c++) {
            int32_t sum = 0;
            for (int32_t k = 0; k < taps; k++) {
                if (rows[k] != NULL) {
                    sum = mote_sum_1(rows[k] + start + c, channels, n, sum);
                }
            }
            *out++ = mote_clamp(mote_average(sum, &average), p->lo, p->hi);
        }
    }
}

MOTE_BY_ROWS(avg_pool_upward_s8, int8_t, s8, rows)

#endif
