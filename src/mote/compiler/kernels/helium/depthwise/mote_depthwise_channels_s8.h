/* mote_depthwise_channels_s8.h: int8 depthwise convolution with channels in the lanes of a vector, for cores with Helium.
 *
 * Sixteen channels of an input are one load from where they lie, and so are the weights of a tap. Products have sixteen
 * bits and are added up in groups of taps whose sums fit, then in 32 bits. The code depends on the window, the channels
 * and the groups, and comes from the compiler (helium/depthwise/channels_assembly.py); here is what surrounds it, and
 * what it means in C.
 *
 * Scratch: rows with their padding; or the window of a pixel at the edge of the image, and a row of padding.
 */
#ifndef MOTE_DEPTHWISE_CHANNELS_S8_H
#define MOTE_DEPTHWISE_CHANNELS_S8_H

#include "mote_lanes.h"
#include "mote_padded_rows.h"

#define MOTE_CHANNELS_ROWS 7

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t channels, zero; /* channels; what padding holds */
    int32_t blocks, last;   /* sixteens of channels, and where the last ones begin, which may have some of those before */
    int32_t padding;        /* bytes of the row of padding, 0 where no row is */
    mote_padded_t padded;
    const int8_t *weights;    /* [sixteens of channels][taps][sixteen] */
    const int32_t *constants; /* those of mote_lanes.h: [sixteens][even, odd, even, odd channels of eight][constants][four] */
    mote_lanes_t lanes;
} mote_depthwise_channels_t;

/* Neighbouring pixels, all columns of whose windows are there. */
typedef struct {
    const int8_t *weights;
    const int32_t *constants;
    int8_t *out;
    int32_t pixels;
    int32_t blocks, last;
    const mote_lanes_t *lanes;
    const int8_t *rows[MOTE_CHANNELS_ROWS];
} mote_channels_call_t;

typedef void mote_channels_code_t(const mote_channels_call_t *call);

#if MOTE_HELIUM
#define MOTE_CHANNELS_CODE(id, constants, taps, columns, step, channels, form, shift, text) \
    __attribute__((naked, noinline, unused)) static void mote_channels_##id(const mote_channels_call_t *call \
                                                                            __attribute__((unused))) { \
        __asm__ volatile(text); \
    }
#else
#define MOTE_CHANNELS_CODE(id, constants, taps, columns, step, channels, form, shift, text) \
    MOTE_NOINLINE void mote_channels_##id(const mote_channels_call_t *call) { \
        mote_channels_c(call, constants, taps, columns, step, channels, mote_lane_##form, shift); \
    }

/* One of sixteen channels, by its sum. */
MOTE_ALWAYS_INLINE int8_t mote_channels_byte(const mote_channels_call_t *call, int32_t block, int32_t c, int32_t sum,
                                             int32_t count, mote_lane_t *line, int32_t shift) {
    const int32_t four = 4 * block + c / 8 * 2 + c % 2;
    int32_t constants[3] = {0, 0, 0};
    for (int32_t i = 0; i < count; i++) {
        constants[i] = call->constants[4 * (four * count + i) + c % 8 / 2];
    }
    return line(call->lanes, sum, constants, shift);
}

MOTE_ALWAYS_INLINE void mote_channels_c(const mote_channels_call_t *call, int32_t count, int32_t taps, int32_t columns,
                                        int32_t step, int32_t channels, mote_lane_t *line, int32_t shift) {
    for (int32_t block = 0; block < call->blocks; block++) {
        const int8_t *const weights = call->weights + 16 * taps * columns * block;
        const int32_t first = mote_min(16 * block, call->last);
        for (int32_t i = 0; i < call->pixels; i++) {
            for (int32_t c = 0; c < 16; c++) {
                int32_t sum = 0;
                for (int32_t k = 0; k < taps * columns; k++) {
                    sum += call->rows[k / columns][(i * step + k % columns) * channels + first + c] * weights[16 * k + c];
                }
                call->out[i * channels + first + c] = mote_channels_byte(call, block, c, sum, count, line, shift);
            }
        }
    }
}
#endif

/* The pixels from column `first` on under a window, some of which are padding. */
MOTE_NOINLINE void mote_channels_copy(const mote_depthwise_channels_t *p, const int8_t *const *rows, int32_t first,
                                      int8_t *to) {
    const int32_t channels = p->channels, columns = p->cols.taps;
    const int32_t lo = first < 0 ? mote_min(-first, columns) : 0;
    const int32_t inside = mote_min(columns, p->cols.in_size - first), hi = inside > lo ? inside : lo;
    for (int32_t k = 0; k < p->rows.taps; k++, to += columns * channels) {
        mote_bytes_fill(to, p->zero, lo * channels);
        if (hi > lo) {
            mote_bytes_copy(to + lo * channels, rows[k] + (first + lo) * channels, (hi - lo) * channels);
        }
        mote_bytes_fill(to + hi * channels, p->zero, (columns - hi) * channels);
    }
}

/* One row of outputs; `copy` has room for the window of a pixel. */
MOTE_ALWAYS_INLINE void mote_channels_row(const mote_depthwise_channels_t *p, mote_channels_code_t *code,
                                          const int8_t *const *rows, int8_t *out, int8_t *copy) {
    const mote_span_t *const s = &p->cols;
    mote_channels_call_t call;
    call.weights = p->weights;
    call.constants = p->constants;
    call.blocks = p->blocks;
    call.last = p->last;
    call.lanes = &p->lanes;
    for (int32_t x = 0; x < s->out_size; x += call.pixels) {
        const int32_t first = x * s->step - s->pad, left = s->in_size - s->taps - first;
        const int32_t inside = first >= 0 && left >= 0;
        call.pixels = inside ? mote_min(s->out_size - x, left / s->step + 1) : 1;
        call.out = out + x * p->channels;
        if (!inside) {
            mote_channels_copy(p, rows, first, copy);
        }
        for (int32_t k = 0; k < p->rows.taps; k++) {
            call.rows[k] = inside ? rows[k] + first * p->channels : copy + k * s->taps * p->channels;
        }
        code(&call);
    }
}

/* Output rows lo..hi-1, of a tensor in one piece, or one from the rows that are given. */
MOTE_ALWAYS_INLINE void mote_channels_rows(const mote_depthwise_channels_t *p, mote_channels_code_t *code,
                                           const int8_t *in, const int8_t *const *given, int8_t *out, int32_t lo,
                                           int32_t hi, int8_t *spare) {
    const int8_t *rows[MOTE_MAX_TAPS];
    int8_t *const padding = spare + (p->padded.size > 0 ? 0 : p->rows.taps * p->cols.taps * p->channels);
    int32_t turn = 0;
    mote_bytes_fill(padding, p->zero, p->padding);
    for (int32_t y = lo; y < hi; y++, out += p->rows.out_stride) {
        if (in != NULL) {
            mote_window_s8(&p->rows, in, y, rows);
        }
        for (int32_t k = 0; k < p->rows.taps; k++) {
            rows[k] = in == NULL ? given[k] : rows[k];
            rows[k] = rows[k] == NULL && p->padded.size == 0 ? padding : rows[k];
        }
        if (p->padded.size > 0) {
            mote_padded_rows(&p->padded, &p->rows, p->zero, mote_padded_first(&p->rows, y, lo), &turn, rows, spare);
        }
        mote_channels_row(p, code, rows, out, spare);
    }
}

#define MOTE_CHANNELS(id) \
    typedef mote_depthwise_channels_t mote_depthwise_##id##_t; \
    MOTE_NOINLINE void mote_depthwise_##id##_all(const mote_depthwise_channels_t *p, const int8_t *in, \
                                                 const int8_t *const *rows, int8_t *out, int32_t lo, int32_t hi, \
                                                 int8_t *scratch) { \
        mote_channels_rows(p, mote_##id, in, rows, out, lo, hi, scratch); \
    } \
    MOTE_UNUSED static inline void mote_depthwise_##id##_row(const mote_depthwise_channels_t *p, \
                                                             const int8_t *const *rows, int8_t *out, \
                                                             int8_t *scratch) { \
        mote_depthwise_##id##_all(p, NULL, rows, out, 0, 1, scratch); \
    } \
    MOTE_UNUSED static inline void mote_depthwise_##id(const mote_depthwise_channels_t *p, const int8_t *in, \
                                                       int8_t *out, int32_t lo, int32_t hi, int8_t *scratch) { \
        mote_depthwise_##id##_all(p, in, NULL, out + lo * p->rows.out_stride, lo, hi, scratch); \
    }

#endif
