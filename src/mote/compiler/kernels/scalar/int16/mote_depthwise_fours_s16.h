/* mote_depthwise_fours_s16.h: int16 depthwise convolutions with int8 weights and windows of three columns, up to four
 * pixels of a channel at a time, for cores that multiply 32 bits and have no SIMD instructions.
 *
 * Each input is loaded once for all pixels of a row that it belongs to. Columns under a block that lie outside of the image
 * are left out. The stream has for each channel its bias, a word with the weights of each row of the window, a multiplier
 * of 15 bits in the upper half of a word and the shift to the right behind it. The compiler has proved that sums fit 32
 * bits. */
#ifndef MOTE_DEPTHWISE_FOURS_S16_H
#define MOTE_DEPTHWISE_FOURS_S16_H

#include "mote_conv_fours_s16.h"

/* What the input of a column adds to the sum of a pixel. */
#define MOTE_DEPTHWISE_FOURS_PIXEL(sum, pixel, column) \
    if ((pixel) < pixels && (column) >= (pixel) * step && (column) < (pixel) * step + 3) { \
        sum = MOTE_PLUS(sum, x * ((column) == (pixel) * step ? w0 : (column) == (pixel) * step + 1 ? w1 : w2)); \
    }
#define MOTE_DEPTHWISE_FOURS_COLUMN(column) \
    if ((column) >= left && (column) < end) { \
        const int32_t x = row[((column) - left) * channels]; \
        MOTE_DEPTHWISE_FOURS_PIXEL(s0, 0, column) \
        MOTE_DEPTHWISE_FOURS_PIXEL(s1, 1, column) \
        MOTE_DEPTHWISE_FOURS_PIXEL(s2, 2, column) \
        MOTE_DEPTHWISE_FOURS_PIXEL(s3, 3, column) \
    }

/* All arguments but the first one are constants, so that little of this is left; `step` is one or two. */
MOTE_ALWAYS_INLINE void mote_depthwise_fours_s16(const mote_block_s16_t *block, int32_t pixels, int32_t taps,
                                                 int32_t step, int32_t left, int32_t right, int32_t channels,
                                                 int32_t lo, int32_t hi) {
    const int32_t end = (pixels - 1) * step + 3 - right;
    const int32_t *stream = block->stream;
    int16_t *to = block->to;
    for (int32_t c = 0; c < channels; c++, to++, stream += 2) {
        int32_t s0 = *stream++, s1 = s0, s2 = s0, s3 = s0;
        for (int32_t k = 0; k < taps; k++) {
            const int16_t *const row = block->from[k] + c;
            const int32_t w = *stream++, w0 = mote_fours_s16_byte(w, 0), w1 = mote_fours_s16_byte(w, 1);
            const int32_t w2 = mote_fours_s16_byte(w, 2);
            MOTE_DEPTHWISE_FOURS_COLUMN(0)
            MOTE_DEPTHWISE_FOURS_COLUMN(1)
            MOTE_DEPTHWISE_FOURS_COLUMN(2)
            MOTE_DEPTHWISE_FOURS_COLUMN(3)
            MOTE_DEPTHWISE_FOURS_COLUMN(4)
            MOTE_DEPTHWISE_FOURS_COLUMN(5)
            MOTE_DEPTHWISE_FOURS_COLUMN(6)
            MOTE_DEPTHWISE_FOURS_COLUMN(7)
            MOTE_DEPTHWISE_FOURS_COLUMN(8)
        }
        to[0] = mote_fours_s16_out(s0, stream, lo, hi);
        if (pixels > 1) {
            to[channels] = mote_fours_s16_out(s1, stream, lo, hi);
        }
        if (pixels > 2) {
            to[2 * channels] = mote_fours_s16_out(s2, stream, lo, hi);
        }
        if (pixels > 3) {
            to[3 * channels] = mote_fours_s16_out(s3, stream, lo, hi);
        }
    }
}

#define MOTE_DEPTHWISE_FOURS_S16_CODE(id, pixels, taps, step, left, right, channels, lo, hi) \
    MOTE_NOINLINE MOTE_HOT void mote_##id(const mote_block_s16_t *block) { \
        mote_depthwise_fours_s16(block, pixels, taps, step, left, right, channels, lo, hi); \
    }

#endif
