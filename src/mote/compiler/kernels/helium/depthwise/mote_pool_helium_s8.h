/* mote_pool_helium_s8.h: int8 average and maximum pooling over any window, sixteen channels at a time, for cores with
 * Helium.
 *
 * The last vector of a pixel repeats channels of the one before where they are no multiple of sixteen. Padding takes no
 * part. Averages are of 256 pixels at most, so that their sums fit half words.
 */
#ifndef MOTE_POOL_HELIUM_S8_H
#define MOTE_POOL_HELIUM_S8_H

#include "mote_sum_s8.h"
#include "mote_pool_s8.h"

typedef mote_pool_s8_t mote_avg_pool_helium_s8_t;
typedef mote_pool_s8_t mote_max_pool_helium_s8_t;

/* What a window has: rows inside the image, pixels of a row, channels; of an average offset, even, inverse; the limits. */
#define MOTE_POOL_COUNTS 8

#if MOTE_HELIUM
/* The pixels of all rows, from channel r1 on: r9 the rows, r3 how many, r10 pixels, r11 channels. */
#define MOTE_POOL_EACH_PIXEL(text) \
    "1:\n\t" \
    "ldr r0, [r9], #4\n\t" \
    "add r0, r0, r1\n\t" \
    "dls lr, r10\n" \
    "2:\n\t" text "add r0, r0, r11\n\t" \
    "le lr, 2b\n\t" \
    "subs r3, r3, #1\n\t" \
    "bne 1b\n\t"

/* Sixteen averages, and sixteen maxima, from a channel on. */
__attribute__((naked, noinline, unused)) static void mote_avg_pool_16(const int8_t *const *rows __attribute__((unused)),
                                                                      int32_t channel __attribute__((unused)),
                                                                      int8_t *out __attribute__((unused)),
                                                                      const int32_t *counts __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "vpush {d8-d11}\n\t"
                     "sub sp, sp, #36\n\t"
                     "mov r9, r0\n\t"
                     "add r4, r3, #12\n\t"
                     "ldm r4, {r4-r8}\n\t"
                     "ldm r3, {r3, r10, r11}\n\t"
                     "vmov.i32 q0, #0\n\t"
                     "vmov.i32 q1, #0\n"
                     MOTE_POOL_EACH_PIXEL("vldrb.s16 q2, [r0]\n\t"
                                          "vadd.i16 q0, q0, q2\n\t"
                                          "vldrb.s16 q3, [r0, #8]\n\t"
                                          "vadd.i16 q1, q1, q3\n\t")
                     "vstrh.16 q0, [sp]\n\t"
                     "vstrh.16 q1, [sp, #16]\n\t"
                     "mov r0, sp\n\t"
                     "mov r3, #4\n\t"
                     "dls lr, r3\n\t" MOTE_HELIUM_AVERAGE_TERMS
                     "3:\n\t"
                     "vldrh.s32 q0, [r0], #8\n\t" MOTE_HELIUM_AVERAGE_FOUR
                     "le lr, 3b\n\t"
                     "add sp, sp, #36\n\t"
                     "vpop {d8-d11}\n\t"
                     "pop {r4-r11, pc}\n\t");
}

__attribute__((naked, noinline, unused)) static void mote_max_pool_16(const int8_t *const *rows __attribute__((unused)),
                                                                      int32_t channel __attribute__((unused)),
                                                                      int8_t *out __attribute__((unused)),
                                                                      const int32_t *counts __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "mov r9, r0\n\t"
                     "ldrd r4, r5, [r3, #24]\n\t"
                     "ldm r3, {r3, r10, r11}\n\t"
                     "vdup.8 q0, r4\n"
                     MOTE_POOL_EACH_PIXEL("vldrb.u8 q1, [r0]\n\t"
                                          "vmax.s8 q0, q0, q1\n\t")
                     "vdup.8 q1, r5\n\t"
                     "vmin.s8 q0, q0, q1\n\t"
                     "vstrb.8 q0, [r2]\n\t"
                     "pop {r4-r11, pc}\n\t");
}
#else
static inline void mote_avg_pool_16(const int8_t *const *rows, int32_t channel, int8_t *out, const int32_t *counts) {
    mote_average_t average;
    average.n = counts[0] * counts[1];
    average.offset = counts[3];
    average.even = counts[4];
    average.inverse = (uint32_t)counts[5];
    for (int32_t c = channel; c < channel + 16; c++) {
        int32_t sum = 0;
        for (int32_t k = 0; k < counts[0]; k++) {
            sum = mote_sum_1(rows[k] + c, counts[2], counts[1], sum);
        }
        *out++ = mote_clamp(mote_average(sum, &average), counts[6], counts[7]);
    }
}

static inline void mote_max_pool_16(const int8_t *const *rows, int32_t channel, int8_t *out, const int32_t *counts) {
    for (int32_t c = channel; c < channel + 16; c++) {
        int32_t most = counts[6];
        for (int32_t k = 0; k < counts[0]; k++) {
            most = mote_max_1(rows[k] + c, counts[2], counts[1], most);
        }
        *out++ = (int8_t)mote_min(most, counts[7]);
    }
}
#endif

/* What makes outputs of sixteen channels of the window's pixels. */
typedef void mote_pool_16_t(const int8_t *const *rows, int32_t channel, int8_t *out, const int32_t *counts);

/* Pixels begin to end - 1 of a row. */
MOTE_ALWAYS_INLINE void mote_pool_helium_pixels(const mote_pool_s8_t *p, const int8_t *const *rows, int8_t *out,
                                                mote_pool_16_t *sixteen, int32_t averages, int32_t begin, int32_t end) {
    const mote_span_t *s = &p->cols;
    const int32_t channels = p->channels;
    const int8_t *inside[MOTE_MAX_TAPS], *from[MOTE_MAX_TAPS];
    int32_t counts[MOTE_POOL_COUNTS], count = 0;
    for (int32_t k = 0; k < p->rows.taps; k++) {
        if (rows[k] != NULL) {
            inside[count++] = rows[k];
        }
    }
    counts[0] = count, counts[2] = channels, counts[6] = p->lo, counts[7] = p->hi;
    counts[1] = 0, counts[3] = 0, counts[4] = 0, counts[5] = 0;
    out += begin * channels;
    for (int32_t x = begin; x < end; x++, out += channels) {
        const int32_t first = x * s->step - s->pad;
        const int32_t lo = mote_span_lo(s, first), n = mote_span_hi(s, first) - lo;
        for (int32_t k = 0; k < count; k++) {
            from[k] = inside[k] + (first + lo) * channels;
        }
        if (averages && n != counts[1]) {
            const mote_average_t average = mote_average_of(n * count);
            counts[3] = average.offset, counts[4] = average.even, counts[5] = (int32_t)average.inverse;
        }
        counts[1] = n;
        for (int32_t c = 0; c < channels; c += 16) {
            const int32_t channel = mote_min(c, channels - 16);
            sixteen(from, channel, out + channel, counts);
        }
    }
}

static inline void mote_avg_pool_helium_s8_row(const mote_avg_pool_helium_s8_t *p, const int8_t *const *rows,
                                               int8_t *out) {
    mote_pool_helium_pixels(p, rows, out, mote_avg_pool_16, 1, 0, p->cols.out_size);
}

static inline void mote_max_pool_helium_s8_row(const mote_max_pool_helium_s8_t *p, const int8_t *const *rows,
                                               int8_t *out) {
    mote_pool_helium_pixels(p, rows, out, mote_max_pool_16, 0, 0, p->cols.out_size);
}

MOTE_BY_ROWS(avg_pool_helium_s8, int8_t, int8_t, s8, rows)

MOTE_BY_ROWS(max_pool_helium_s8, int8_t, int8_t, s8, rows)

#endif
