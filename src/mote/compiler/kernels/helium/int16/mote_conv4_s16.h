/* mote_conv4_s16.h: int16 convolutions with int8 weights, up to four pixels and two channels at a time, and depthwise ones,
 * up to four pixels and eight channels at a time, for cores with Helium.
 *
 * Rows are read where they lie, in vectors of eight; windows with short rows are packed into working memory first. The
 * stream of a convolution has for each pair of channels the weights, eight of one and eight of the other, then biases and
 * halved multipliers. The last vector of a row ends with it, and has zeros for inputs of the one before; that of a packed
 * window, or of a row of fewer than eight inputs, has zeros behind them. That of a depthwise convolution has for each eight
 * channels the biases of the even and of the odd ones, a vector of weights for each element of the window, and halved
 * multipliers like the biases. The compiler has proved that sums fit 32 bits; the code is written for a layer
 * (helium/int16/blocks_assembly.py), and here is what it means in C. */
#ifndef MOTE_CONV4_S16_H
#define MOTE_CONV4_S16_H

#include "mote_blocks_s16.h"
#include "mote_helium.h"

#if MOTE_HELIUM
#define MOTE_BLOCK4_S16(id, text) \
    __attribute__((naked, noinline, unused)) static void mote_##id( \
        const mote_block_s16_t *block __attribute__((unused))) { \
        __asm__ volatile(text); \
    }

#define MOTE_CONV4_S16_CODE(id, pixels, taps, line, pixel, packed, channels, s, lo, hi, text) MOTE_BLOCK4_S16(id, text)
#define MOTE_DEPTHWISE4_S16_CODE(id, pixels, taps, columns, step, left, right, channels, s, lo, hi, text) \
    MOTE_BLOCK4_S16(id, text)
#else
/* Byte i of words. */
static inline int32_t mote_conv4_s16_byte(const int32_t *words, int32_t i) {
    return (int8_t)(uint8_t)((uint32_t)words[i / 4] >> i % 4 * 8);
}

/* Where the weight of input `at` of a row lies among those of its channel, which are sixteen bytes apart. */
static inline int32_t mote_conv4_s16_at(int32_t at, int32_t line, int32_t packed) {
    const int32_t last = packed || line < 8 || at < line / 8 * 8 ? 0 : (8 - line % 8) % 8;
    return at / 8 * 16 + at % 8 + last;
}

static inline void mote_conv4_s16_c(const mote_block_s16_t *b, int32_t pixels, int32_t taps, int32_t line,
                                    int32_t pixel, int32_t packed, int32_t channels, int32_t s, int32_t lo,
                                    int32_t hi) {
    const int32_t row = (line + 7) / 8 * 16, bytes = packed ? (taps * line + 7) / 8 * 16 : taps * row;
    const int32_t *stream = b->stream;
    for (int32_t c = 0; c < channels; c += 2, stream += bytes / 4 + 4) {
        for (int32_t i = 0; i < 2 * pixels; i++) {
            const int32_t channel = i % 2;
            const int32_t *const end = stream + bytes / 4;
            uint32_t sum = (uint32_t)end[channel];
            for (int32_t k = 0; k < taps; k++) {
                for (int32_t j = 0; j < line; j++) {
                    const int32_t at = mote_conv4_s16_at(packed ? k * line + j : j, line, packed);
                    const int32_t w = mote_conv4_s16_byte(stream, (packed ? 0 : k * row) + at + channel * 8);
                    sum += (uint32_t)(b->from[k][i / 2 * pixel + j] * w);
                }
            }
            b->to[i / 2 * channels + c + channel] =
                mote_clamp_s16(mote_rescale_high((int32_t)sum, 2 * end[2 + channel], s), lo, hi);
        }
    }
}

static inline void mote_depthwise4_s16_c(const mote_block_s16_t *b, int32_t pixels, int32_t taps, int32_t columns,
                                         int32_t step, int32_t left, int32_t right, int32_t channels, int32_t s,
                                         int32_t lo, int32_t hi) {
    const int32_t window = taps * columns, words = 16 + 2 * window, end = (pixels - 1) * step + columns - right;
    for (int32_t c = 0; c < channels; c++) {
        const int32_t *const stream = b->stream + c / 8 * words, lane = c % 2 * 4 + c % 8 / 2;
        for (int32_t i = 0; i < pixels; i++) {
            uint32_t sum = (uint32_t)stream[lane];
            for (int32_t j = 0; j < window; j++) {
                const int32_t column = i * step + j % columns;
                if (column >= left && column < end) {
                    const int32_t x = b->from[j / columns][(column - left) * channels + c];
                    sum += (uint32_t)(x * mote_conv4_s16_byte(stream + 8, 8 * j + c % 8));
                }
            }
            b->to[i * channels + c] =
                mote_clamp_s16(mote_rescale_high((int32_t)sum, 2 * stream[8 + 2 * window + lane], s), lo, hi);
        }
    }
}

#define MOTE_CONV4_S16_CODE(id, pixels, taps, line, pixel, packed, channels, s, lo, hi, text) \
    MOTE_UNUSED static inline void mote_##id(const mote_block_s16_t *block) { \
        mote_conv4_s16_c(block, pixels, taps, line, pixel, packed, channels, s, lo, hi); \
    }
#define MOTE_DEPTHWISE4_S16_CODE(id, pixels, taps, columns, step, left, right, channels, s, lo, hi, text) \
    MOTE_UNUSED static inline void mote_##id(const mote_block_s16_t *block) { \
        mote_depthwise4_s16_c(block, pixels, taps, columns, step, left, right, channels, s, lo, hi); \
    }
#endif

#endif
