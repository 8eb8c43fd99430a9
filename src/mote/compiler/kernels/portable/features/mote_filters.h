/* mote_filters.h: filters of 16-bit samples, channels interleaved. */
#ifndef MOTE_FILTERS_H
#define MOTE_FILTERS_H

#include "mote_dot_s16.h"

/* n samples x[i] - factor * x[i - 1], `step` elements apart, where the product is rounded; gives the last x. Four are
 * read before the first is written, so that it may be in place. */
static inline int32_t mote_emphasized(const int16_t *x, int32_t before, int32_t factor, int32_t fraction, int16_t *y,
                                      int32_t step, int32_t n) {
    const int32_t half = (int32_t)1 << (fraction - 1);
    for (; n > 3; n -= 4, x += 4 * step, y += 4 * step) {
        const int32_t a = x[0], b = x[step], c = x[2 * step], d = x[3 * step];
        y[0] = (int16_t)mote_saturate_s16(a - ((factor * before + half) >> fraction));
        y[step] = (int16_t)mote_saturate_s16(b - ((factor * a + half) >> fraction));
        y[2 * step] = (int16_t)mote_saturate_s16(c - ((factor * b + half) >> fraction));
        y[3 * step] = (int16_t)mote_saturate_s16(d - ((factor * c + half) >> fraction));
        before = d;
    }
    for (; n > 0; n--, x += step, y += step) {
        const int32_t sample = *x;
        *y = (int16_t)mote_saturate_s16(sample - ((factor * before + half) >> fraction));
        before = sample;
    }
    return before;
}

typedef struct {
    mote_window_t window; /* the row before, and the row itself */
    int32_t unit, channels, factor, fraction;
} mote_pre_emphasis_t;

/* x[n] - factor * x[n - 1] of one row; zeros are before the first. */
static inline void mote_pre_emphasis_row(const mote_pre_emphasis_t *p, const int16_t *const *rows, int16_t *out) {
    if (rows[1] == NULL) {
        memset(out, 0, (size_t)(p->unit * p->channels) * sizeof(int16_t));
        return;
    }
    for (int32_t c = 0; c < p->channels; c++) {
        const int32_t before = rows[0] == NULL ? 0 : rows[0][(p->unit - 1) * p->channels + c];
        (void)mote_emphasized(rows[1] + c, before, p->factor, p->fraction, out + c, p->channels, p->unit);
    }
}

MOTE_BY_ROWS(pre_emphasis, int16_t, int16_t, s16, window)

typedef struct {
    int32_t channels, factor, fraction;
} mote_pre_emphasis_stream_t;

/* n samples of each channel of a stream, whose last ones are kept. */
static inline void mote_pre_emphasis_stream(const mote_pre_emphasis_stream_t *p, const int16_t *in, int16_t *last,
                                            int16_t *out, int32_t n) {
    if (p->channels == 1) { /* known to the loop */
        last[0] = (int16_t)mote_emphasized(in, last[0], p->factor, p->fraction, out, 1, n);
        return;
    }
    for (int32_t c = 0; c < p->channels; c++) {
        last[c] = (int16_t)mote_emphasized(in + c, last[c], p->factor, p->fraction, out + c, p->channels, n);
    }
}

/* Outputs of one channel, `step` elements apart, each made of `count` samples, `decimation` behind the one before. */
static inline void mote_fir_sums(const int16_t *samples, const int16_t *taps, int32_t count, int32_t decimation,
                                 int32_t fraction, int16_t *out, int32_t step, int32_t outputs) {
    const int32_t half = ((int32_t)1 << fraction) >> 1;
    for (; outputs > 0; outputs -= 2, samples += 2 * decimation, out += 2 * step) {
        int32_t sum[2] = {half, half};
        mote_products_2_s16(samples, outputs > 1 ? decimation : 0, taps, count, sum);
        out[0] = (int16_t)mote_saturate_s16(sum[0] >> fraction);
        if (outputs > 1) {
            out[step] = (int16_t)mote_saturate_s16(sum[1] >> fraction);
        }
    }
}

typedef struct {
    mote_window_t window;
    int32_t unit, units, channels;       /* samples of a channel in a row of the input and of the output */
    int32_t count, decimation, fraction; /* taps */
    const int16_t *taps;                 /* from that of the oldest sample on */
} mote_fir_t;

/* One channel of one row: the samples under it go to `kept`, then each output is a sum of products. */
static inline void mote_fir_channel(const mote_fir_t *p, const int16_t *const *rows, int32_t c, int16_t *out,
                                    int16_t *kept) {
    const int32_t used = p->count + (p->units - 1) * p->decimation;
    int32_t skipped = (p->window.taps - 1) * p->unit - (p->count - 1), filled = 0;
    for (int32_t k = 0; filled < used; k++, skipped = 0) {
        const int32_t end = filled + mote_min(p->unit - skipped, used - filled);
        if (rows[k] == NULL) {
            memset(kept + filled, 0, (size_t)(end - filled) * sizeof(int16_t));
            filled = end;
        } else if (p->channels == 1) {
            memcpy(kept + filled, rows[k] + skipped, (size_t)(end - filled) * sizeof(int16_t));
            filled = end;
        } else {
            for (const int16_t *x = rows[k] + skipped * p->channels + c; filled < end; x += p->channels) {
                kept[filled++] = *x;
            }
        }
    }
    mote_fir_sums(kept, p->taps, p->count, p->decimation, p->fraction, out + c, p->channels, p->units);
}

static inline void mote_fir_row(const mote_fir_t *p, const int16_t *const *rows, int16_t *out, mote_any_t scratch) {
    for (int32_t c = 0; c < p->channels; c++) {
        mote_fir_channel(p, rows, c, out, scratch);
    }
}

static inline void mote_fir(const mote_fir_t *p, const int16_t *in, int16_t *out, int32_t lo, int32_t hi,
                            mote_any_t scratch) {
    const int16_t *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_s16(&p->window, in, y, rows);
        mote_fir_row(p, rows, out + y * p->window.out_stride, scratch);
    }
}

typedef struct {
    int32_t block, channels;             /* outputs that are computed at once, of each channel */
    int32_t count, decimation, fraction; /* taps */
    const int16_t *taps;                 /* from that of the oldest sample on */
} mote_fir_stream_t;

/* n outputs of each channel of a stream, whose last samples are kept, one fewer than there are taps. */
static inline void mote_fir_stream(const mote_fir_stream_t *p, const int16_t *in, int16_t *kept, int16_t *out, int32_t n,
                                   mote_any_t scratch) {
    int16_t *const samples = (int16_t *)scratch;
    const size_t past = (size_t)(p->count - 1);
    for (int32_t done = 0; done < n; done += p->block) {
        const int32_t outputs = mote_min(p->block, n - done), fresh = outputs * p->decimation;
        for (int32_t c = 0; c < p->channels; c++) {
            const int16_t *x = in + c;
            int16_t *const own = kept + c * (p->count - 1);
            memcpy(samples, own, past * sizeof *samples);
            for (int32_t i = 0; i < fresh; i++, x += p->channels) {
                samples[p->count - 1 + i] = *x;
            }
            memcpy(own, samples + fresh, past * sizeof *samples);
            mote_fir_sums(samples, p->taps, p->count, p->decimation, p->fraction, out + c, p->channels, outputs);
        }
        in += fresh * p->channels;
        out += outputs * p->channels;
    }
}

typedef struct {
    int32_t b0, b1, b2, a1, a2; /* with 30 fraction bits; a1 and a2 with the other sign */
    int32_t c1, c2;             /* factors of what was cut off the last two sums */
} mote_section_t;

typedef struct {
    int32_t channels, sections;
    const mote_section_t *section;
} mote_biquads_t;

/* sum + a * b; what a caller restored may be anything, and so wrap. */
static inline uint64_t mote_section_add(uint64_t sum, int32_t a, int32_t b) { return sum + (uint64_t)((int64_t)a * b); }

/* A sample through all sections. `kept`: the last two samples, then the last two outputs of each section and what was
 * cut off them. */
static inline int32_t mote_biquads_sample(const mote_biquads_t *p, int32_t x, int32_t *kept) {
    int32_t x1 = kept[0], x2 = kept[1];
    kept[0] = x;
    kept[1] = x1;
    kept += 2;
    for (int32_t k = 0; k < p->sections; k++, kept += 4) {
        const mote_section_t *const s = p->section + k;
        const int32_t y1 = kept[0], y2 = kept[1], e1 = kept[2];
        uint64_t sum = mote_section_add(0, s->b0, x);
        sum = mote_section_add(sum, s->b1, x1);
        sum = mote_section_add(sum, s->b2, x2);
        sum = mote_section_add(sum, s->a1, y1);
        sum = mote_section_add(sum, s->a2, y2);
        sum = mote_section_add(sum, s->c1, e1);
        sum = mote_section_add(sum, s->c2, kept[3]);
        const uint32_t high = (uint32_t)(sum >> 32);
        int32_t cut = (int32_t)((uint32_t)sum & 0x3fffffff);
        x = (int32_t)(uint32_t)(sum >> 30);
        if (high + 0x10000000u >= 0x20000000u) { /* not from -2^60 to 2^60 - 1 */
            x = high >> 31 ? -((int32_t)1 << 30) : ((int32_t)1 << 30) - 1;
            cut = 0;
        }
        kept[0] = x;
        kept[1] = y1;
        kept[2] = cut;
        kept[3] = e1;
        x1 = y1;
        x2 = y2;
    }
    return x;
}

/* n samples of each channel. */
static inline void mote_biquads(const mote_biquads_t *p, const int16_t *in, int32_t *kept, int16_t *out, int32_t n) {
    for (int32_t c = 0; c < p->channels; c++, kept += 2 + 4 * p->sections) {
        const int16_t *x = in + c;
        int16_t *y = out + c;
        for (int32_t i = 0; i < n; i++, x += p->channels, y += p->channels) {
            const int32_t sample = mote_biquads_sample(p, *x * (int32_t)8192, kept);
            *y = (int16_t)mote_saturate_s16(mote_wrapping_add(sample, 4096) >> 13);
        }
    }
}

/* a - b as registers subtract. */
static inline int32_t mote_wrapping_less(int32_t a, int32_t b) { return (int32_t)((uint32_t)a - (uint32_t)b); }

/* A mean of 16-bit samples, with 15 fraction bits, and a sample more of a 2^shift-th part. From a mean in its range on
 * nothing wraps. */
static inline int32_t mote_running_average(int32_t mean, int32_t sample, int32_t shift) {
    const int32_t less = mote_wrapping_less(sample * 32768, mean), half = (int32_t)1 << (shift - 1);
    return mote_wrapping_add(mean, mote_wrapping_add(less, half) >> shift);
}

/* What a caller restored as such a mean, which may be anything. */
static inline int32_t mote_restored_mean(int32_t mean) {
    const int32_t least = INT32_C(-32768) * 32768, most = INT32_C(32767) * 32768;
    return mean < least ? least : mean > most ? most : mean;
}

typedef struct {
    int32_t channels, shift;
} mote_remove_dc_t;

/* n samples of each channel without the running mean. */
static inline void mote_remove_dc(const mote_remove_dc_t *p, const int16_t *in, int32_t *means, int16_t *out, int32_t n) {
    for (int32_t c = 0; c < p->channels; c++) {
        const int16_t *x = in + c;
        int16_t *y = out + c;
        int32_t mean = mote_restored_mean(means[c]);
        for (int32_t i = 0; i < n; i++, x += p->channels, y += p->channels) {
            const int32_t sample = *x;
            mean = mote_running_average(mean, sample, p->shift);
            *y = (int16_t)mote_saturate_s16(sample - (mote_wrapping_add(mean, 16384) >> 15));
        }
        means[c] = mean;
    }
}

#endif
