/* mote_depthwise_avr_s8.h: depthwise convolution on AVR, four channels at a time, of which there is a multiple, one
 * for each of the input.
 *
 * Inputs are read as bytes 128 above their values and multiplied with signed weights; taps outside of the image are skipped,
 * which is right where the input's zero point is -128, or there are none. Weights are packed as [block of 4 channels][tap][4];
 * they and the channels' constants (see mote_finish_avr_s8.h) lie in flash. */
#ifndef MOTE_DEPTHWISE_AVR_S8_H
#define MOTE_DEPTHWISE_AVR_S8_H

#include "mote_finish_avr_s8.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t channels;
    int32_t lo, hi; /* the range of the fused activation */
    const int8_t *weights;
    const uint8_t *channel;
} mote_depthwise_avr_s8_t;

#if defined(__AVR__)
#define MOTE_TAP_AVR(sum) \
    "ld %[x], X+\n\t" \
    "subi %[x], 0x80\n\t" \
    "lpm %[w], Z+\n\t" \
    "mulsu %[w], %[x]\n\t" \
    "sbc %C[" sum "], %[zero]\n\t" \
    "add %A[" sum "], r0\n\t" \
    "adc %B[" sum "], r1\n\t" \
    "adc %C[" sum "], %[zero]\n\t"
#endif

/* Add `taps` of a row, at least one, `step` elements apart, to four sums. */
MOTE_ALWAYS_INLINE void mote_taps_avr(mote_sum_avr_t *s, const int8_t *x, const int8_t *weights, uint8_t taps,
                                      int16_t step) {
#if defined(__AVR__)
    int8_t weight;
    uint8_t input;
    __asm__("1:\n\t" MOTE_TAP_AVR("a") MOTE_TAP_AVR("b") MOTE_TAP_AVR("c") MOTE_TAP_AVR("d")
            "add r26, %A[step]\n\t"
            "adc r27, %B[step]\n\t"
            "dec %[n]\n\t"
            "brne 1b\n\t"
            "clr r1"
            : [a] "+&r"(s[0]), [b] "+&r"(s[1]), [c] "+&r"(s[2]), [d] "+&r"(s[3]), "+&x"(x), "+&z"(weights), [n] "+&r"(taps),
              [x] "=&a"(input), [w] "=&a"(weight)
            : [zero] "r"((uint8_t)0), [step] "r"((int16_t)(step - 4))
            : "r0", "memory");
#else
    for (; taps > 0; taps--, x += step, weights += 4) {
        s[0] = (s[0] + (uint32_t)((x[0] + 128) * weights[0])) & MOTE_SUM_AVR;
        s[1] = (s[1] + (uint32_t)((x[1] + 128) * weights[1])) & MOTE_SUM_AVR;
        s[2] = (s[2] + (uint32_t)((x[2] + 128) * weights[2])) & MOTE_SUM_AVR;
        s[3] = (s[3] + (uint32_t)((x[3] + 128) * weights[3])) & MOTE_SUM_AVR;
    }
#endif
}

/* One output row. */
MOTE_NOINLINE void mote_depthwise_avr_s8_row(const mote_depthwise_avr_s8_t *p, const int8_t *const *rows, int8_t *out) {
    const int16_t channels = (int16_t)p->channels, size = (int16_t)p->cols.in_size, spread = (int16_t)p->cols.spread;
    const int16_t step = (int16_t)p->cols.step, far = (int16_t)(channels * spread);
    const uint8_t taps = (uint8_t)p->cols.taps, high = (uint8_t)p->rows.taps;
    const int8_t lo = (int8_t)p->lo, hi = (int8_t)p->hi;
    int16_t first = (int16_t)-p->cols.pad;
    for (int16_t x = (int16_t)p->cols.out_size; x > 0; x--, first = (int16_t)(first + step)) {
        const uint8_t *q = p->channel;
        const int8_t *w = p->weights;
        int16_t begin = first;
        uint8_t skipped = 0, n = 0;
        for (; begin < 0 && skipped < taps; begin = (int16_t)(begin + spread)) {
            skipped++;
        }
        for (int16_t at = begin; at < size && skipped + n < taps; at = (int16_t)(at + spread)) {
            n++;
        }
        begin = (int16_t)(begin * channels);
        for (int16_t c = 0; c < channels; c = (int16_t)(c + 4)) {
            mote_sum_avr_t s[4] = {0, 0, 0, 0};
            const int8_t *weights = w + 4 * skipped;
            for (uint8_t k = 0; k < high; k++, weights += 4 * taps) {
                if (rows[k] != NULL && n > 0) {
                    mote_taps_avr(s, rows[k] + begin + c, weights, n, far);
                }
            }
            w += 4 * (uint16_t)((uint16_t)taps * high);
            mote_finish_avr(s, q, out, 4, lo, hi);
            q += 4 * MOTE_FINISH_AVR;
            out += 4;
        }
    }
}

MOTE_BY_ROWS(depthwise_avr_s8, int8_t, int8_t, s8, rows)

#endif
