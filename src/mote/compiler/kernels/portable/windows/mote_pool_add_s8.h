/* mote_pool_add_s8.h: int8 average and maximum pooling to a single row, one input row at a time. */
#ifndef MOTE_POOL_ADD_S8_H
#define MOTE_POOL_ADD_S8_H

#include "mote_pool_s8.h"
#include "mote_running_sums.h"

typedef mote_pool_s8_t mote_avg_pool_add_s8_t;
typedef mote_pool_s8_t mote_max_pool_add_s8_t;

/* n averages, clamped. */
static inline void mote_averages(const int32_t *sum, const mote_average_t *a, int32_t least, int32_t greatest,
                                 int8_t *out, int32_t n) {
#ifdef mote_average_terms
    if (a->inverse != 0) {
        const int32_t terms[] = {a->offset, a->even, (int32_t)a->inverse, least, greatest};
        mote_average_terms(sum, terms, out, n);
        return;
    }
#endif
    for (; n > 0; n--) {
        *out++ = mote_clamp(mote_average(*sum++, a), least, greatest);
    }
}

static inline void mote_avg_pool_add_s8(const mote_avg_pool_add_s8_t *p, const int8_t *row, int32_t tap, int32_t part,
                                        int32_t *sums, int8_t *out) {
    const mote_span_t *s = &p->cols;
    const int32_t channels = p->channels, least = p->lo, greatest = p->hi;
    const int32_t rows = mote_min(p->rows.taps - p->rows.pad, p->rows.in_rows); /* inside the image */
    (void)tap;
    if (part & MOTE_FIRST) {
        memset(sums, 0, (size_t)(s->out_size * channels) * sizeof *sums);
    }
    for (int32_t x = 0; x < s->out_size; x++, sums += channels) {
        const int32_t first = x * s->step - s->pad;
        const int32_t lo = mote_span_lo(s, first), n = mote_span_hi(s, first) - lo;
        mote_sum_row(row + (first + lo) * channels, n, channels, sums);
        if (part & MOTE_LAST) {
            const mote_average_t average = mote_average_of(n * rows);
            mote_averages(sums, &average, least, greatest, out, channels);
            out += channels;
        }
    }
}

/* The maxima so far are bytes: the sums take no more memory than the output. */
static inline void mote_max_pool_add_s8(const mote_max_pool_add_s8_t *p, const int8_t *row, int32_t tap, int32_t part,
                                        int32_t *sums, int8_t *out) {
    const mote_span_t *s = &p->cols;
    const int32_t channels = p->channels, size = s->out_size * channels, greatest = p->hi;
    int8_t *most = (int8_t *)sums;
    (void)tap;
    if (part & MOTE_FIRST) {
        memset(most, (int)p->lo, (size_t)size);
    }
    for (int32_t x = 0; x < s->out_size; x++) {
        const int32_t first = x * s->step - s->pad;
        const int32_t lo = mote_span_lo(s, first), n = mote_span_hi(s, first) - lo;
        const int8_t *from = row + (first + lo) * channels;
        int32_t c = channels;
#ifdef mote_max_16
        for (; c > 15; c -= 16, from += 16, most += 16) {
            mote_max_16(from, channels, n, most);
        }
#endif
#ifdef mote_max_4
        for (; c > 3; c -= 4, from += 4, most += 4) {
            const uint32_t four = mote_max_4(from, channels, n, mote_load4(most));
            memcpy(most, &four, 4);
        }
#endif
        for (; c > 0; c--, from++, most++) {
            *most = (int8_t)mote_max_1(from, channels, n, *most);
        }
    }
    if (part & MOTE_LAST) {
        most -= size;
        for (int32_t i = 0; i < size; i++) {
            out[i] = (int8_t)mote_min(most[i], greatest);
        }
    }
}

#endif
