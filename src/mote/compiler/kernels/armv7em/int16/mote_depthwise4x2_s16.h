/* mote_depthwise4x2_s16.h: int16 depthwise convolutions with int8 weights, up to four pixels and two channels at a time,
 * for cores with DSP instructions.
 *
 * A word of inputs is two channels of a pixel, as they lie. The stream has for each pair of channels its biases, the
 * weights of each element of the window, both channels in a word, and its multipliers. Columns under a block that lie
 * outside of the image are left out. The compiler has proved that sums
 * fit 32 bits; the code is written for a layer (armv7em/int16/depthwise4x2_assembly.py), and here is what it means in
 * C. */
#ifndef MOTE_DEPTHWISE4X2_S16_H
#define MOTE_DEPTHWISE4X2_S16_H

#include "mote_conv4x2_s16.h"

#if MOTE_DSP
#define MOTE_DEPTHWISE4X2_S16_CODE(id, pixels, taps, columns, step, left, right, channels, s, lo, hi, text) \
    MOTE_BLOCK4X2_S16(id, text)
#else
static inline void mote_depthwise4x2_s16_c(const mote_block_s16_t *b, int32_t pixels, int32_t taps, int32_t columns,
                                           int32_t step, int32_t left, int32_t right, int32_t channels, int32_t s,
                                           int32_t lo, int32_t hi) {
    const int32_t *stream = b->stream, window = taps * columns, end = (pixels - 1) * step + columns - right;
    for (int32_t c = 0; c < channels; c += 2, stream += 4 + window) {
        for (int32_t i = 0; i < 2 * pixels; i++) {
            const int32_t channel = i % 2;
            uint32_t sum = (uint32_t)stream[channel];
            for (int32_t j = 0; j < window; j++) {
                const int32_t w = (int16_t)(uint16_t)((uint32_t)stream[2 + j] >> channel * 16);
                const int32_t column = i / 2 * step + j % columns;
                if (column >= left && column < end) {
                    sum += (uint32_t)(b->from[j / columns][(column - left) * channels + c + channel] * w);
                }
            }
            b->to[i / 2 * channels + c + channel] =
                mote_clamp_s16(mote_rescale_high((int32_t)sum, stream[2 + window + channel], s), lo, hi);
        }
    }
}

#define MOTE_DEPTHWISE4X2_S16_CODE(id, pixels, taps, columns, step, left, right, channels, s, lo, hi, text) \
    MOTE_UNUSED static inline void mote_##id(const mote_block_s16_t *block) { \
        mote_depthwise4x2_s16_c(block, pixels, taps, columns, step, left, right, channels, s, lo, hi); \
    }
#endif

#endif
