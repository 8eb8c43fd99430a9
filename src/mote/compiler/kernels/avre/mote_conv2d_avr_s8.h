/* mote_conv2d_avr_s8.h: convolution on AVR: a window at a time is gathered, and multiplied with every channel. */
#ifndef MOTE_CONV2D_AVR_S8_H
#define MOTE_CONV2D_AVR_S8_H

#include "mote_conv2d_s8.h"
#include "mote_gemm_avr_s8.h"

typedef struct {
    mote_patch_t patch;
    mote_gemm_avr_s8_t gemm;
} mote_conv2d_avr_s8_t;

/* mote_gather with 16-bit numbers: the window that begins at input column `first`. */
static inline int8_t *mote_fill_avr(int8_t *to, int8_t value, uint16_t count) {
    for (; count > 0; count--) {
        *to++ = value;
    }
    return to;
}

MOTE_NOINLINE void mote_gather_avr(const mote_patch_t *p, const int8_t *const *rows, int16_t first, int8_t *to) {
    const int16_t c = (int16_t)p->in_channels, size = (int16_t)p->cols.in_size, spread = (int16_t)p->cols.spread;
    const uint8_t taps = (uint8_t)p->cols.taps;
    const int8_t zero = (int8_t)p->in_zero;
    const uint16_t line = (uint16_t)(taps * (uint16_t)c);
    uint8_t before = 0, inside = 0; /* taps left of the image and in it */
    for (; first < 0 && before < taps; first = (int16_t)(first + spread)) {
        before++;
    }
    for (int16_t x = first; x < size && before + inside < taps; x = (int16_t)(x + spread)) {
        inside++;
    }
    const uint16_t left = (uint16_t)(before * (uint16_t)c), middle = (uint16_t)(inside * (uint16_t)c);
    const int16_t offset = (int16_t)(first * c), far = (int16_t)((spread - 1) * c);
    for (uint8_t k = (uint8_t)p->rows.taps; k > 0; k--, rows++) {
        const int8_t *from = *rows;
        if (from == NULL || inside == 0) {
            to = mote_fill_avr(to, zero, line);
            continue;
        }
        from += offset;
        to = mote_fill_avr(to, zero, left);
        if (far == 0) {
            for (uint16_t n = middle; n > 0; n--) {
                *to++ = *from++;
            }
        } else {
            for (uint8_t t = inside; t > 0; t--, from += far) {
                for (int16_t n = c; n > 0; n--) {
                    *to++ = *from++;
                }
            }
        }
        to = mote_fill_avr(to, zero, (uint16_t)(line - left - middle));
    }
}

/* One output row; `scratch` holds a window. */
static inline void mote_conv2d_avr_s8_row(const mote_conv2d_avr_s8_t *p, const int8_t *const *rows, int8_t *out,
                                          int8_t *scratch) {
    const int16_t step = (int16_t)p->patch.cols.step;
    int16_t first = (int16_t)-p->patch.cols.pad;
    for (int16_t x = (int16_t)p->patch.cols.out_size; x > 0; x--, first = (int16_t)(first + step)) {
        mote_gather_avr(&p->patch, rows, first, scratch);
        mote_gemm_avr(&p->gemm, scratch, out);
        out += (uint16_t)p->gemm.channels;
    }
}

static inline void mote_conv2d_avr_s8(const mote_conv2d_avr_s8_t *p, const int8_t *in, int8_t *out, int32_t lo,
                                      int32_t hi, int8_t *scratch) {
    const int8_t *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_s8(&p->patch.rows, in, y, rows);
        mote_conv2d_avr_s8_row(p, rows, out + y * p->patch.rows.out_stride, scratch);
    }
}

#endif
