/* mote_pool_s8.h: int8 average and maximum pooling over any window, four channels at a time.
 *
 * Padding takes no part: an average divides by the pixels that lie inside the image.
 */
#ifndef MOTE_POOL_S8_H
#define MOTE_POOL_S8_H

#include "mote_max_s8.h"
#include "mote_sum_s8.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t channels;
    int32_t lo, hi; /* the range of the fused activation */
} mote_pool_s8_t;

typedef mote_pool_s8_t mote_avg_pool_s8_t;
typedef mote_pool_s8_t mote_max_pool_s8_t;

/* Averages; negative halves are rounded down where `evens` is -1, and up, as positive ones, where it is 0. */
#define MOTE_AVG_POOL_S8(name, evens) \
    static inline void mote_##name##_row(const mote_##name##_t *p, const int8_t *const *rows, int8_t *out) { \
        const mote_span_t *s = &p->cols; \
        const int32_t channels = p->channels, taps = p->rows.taps, least = p->lo, greatest = p->hi; \
        int32_t inside = 0; \
        for (int32_t k = 0; k < taps; k++) { \
            inside += rows[k] != NULL; \
        } \
        for (int32_t x = 0; x < s->out_size; x++) { \
            const int32_t first = x * s->step - s->pad; \
            const int32_t lo = mote_span_lo(s, first), n = mote_span_hi(s, first) - lo; \
            const int32_t start = (first + lo) * channels; \
            mote_average_t average = mote_average_of(n * inside); \
            const int32_t plain = least == -128 && greatest == 127; \
            int32_t c = 0; \
            average.even &= evens; \
            for (; c + 4 <= channels; c += 4, out += 4) { \
                int32_t sum[4] = {0, 0, 0, 0}; \
                mote_sum_4_rows(rows, taps, start + c, channels, n, sum); \
                if (plain) { \
                    mote_average_4(sum, &average, out); \
                    continue; \
                } \
                for (int32_t i = 0; i < 4; i++) { \
                    out[i] = mote_clamp(mote_average(sum[i], &average), least, greatest); \
                } \
            } \
            for (; c < channels; c++) { \
                int32_t sum = 0; \
                for (int32_t k = 0; k < taps; k++) { \
                    if (rows[k] != NULL) { \
                        sum = mote_sum_1(rows[k] + start + c, channels, n, sum); \
                    } \
                } \
                *out++ = mote_clamp(mote_average(sum, &average), least, greatest); \
            } \
        } \
    } \
\
    MOTE_BY_ROWS(name, int8_t, int8_t, s8, rows)

MOTE_AVG_POOL_S8(avg_pool_s8, -1)

static inline void mote_max_pool_s8_row(const mote_max_pool_s8_t *p, const int8_t *const *rows, int8_t *out) {
    const mote_span_t *s = &p->cols;
    const int32_t channels = p->channels, taps = p->rows.taps, least = p->lo, greatest = p->hi;
    for (int32_t x = 0; x < s->out_size; x++) {
        const int32_t first = x * s->step - s->pad;
        const int32_t lo = mote_span_lo(s, first), n = mote_span_hi(s, first) - lo;
        const int32_t start = (first + lo) * channels;
        int32_t c = 0;
#ifdef mote_max_4
        for (; c + 4 <= channels; c += 4, out += 4) {
            uint32_t most = (uint32_t)(least & 0xff) * 0x01010101u;
            for (int32_t k = 0; k < taps; k++) {
                if (rows[k] != NULL) {
                    most = mote_max_4(rows[k] + start + c, channels, n, most);
                }
            }
            most = mote_min_bytes(most, (uint32_t)(greatest & 0xff) * 0x01010101u);
            memcpy(out, &most, 4);
        }
#endif
        for (; c < channels; c++) {
            int32_t most = least;
            for (int32_t k = 0; k < taps; k++) {
                if (rows[k] != NULL) {
                    most = mote_max_1(rows[k] + start + c, channels, n, most);
                }
            }
            *out++ = (int8_t)mote_min(most, greatest);
        }
    }
}

MOTE_BY_ROWS(max_pool_s8, int8_t, int8_t, s8, rows)

#endif
