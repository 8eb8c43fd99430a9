/* mote_conv4x2_s16.h: int16 convolutions with int8 weights, up to four pixels and two channels at a time, for cores with
 * DSP instructions.
 *
 * Inputs are pairs of 16 bits as they lie, so nothing is copied or widened. Weights come in pairs for both channels:
 * two words of two half words (`wide`), or one word of four bytes. The stream has for each pair of channels its biases,
 * the weights of each row of the window, and its multipliers. The compiler has proved that sums fit 32 bits; the code is
 * written for a layer (armv7em/int16/conv4x2_assembly.py), and here is what it means in C. */
#ifndef MOTE_CONV4X2_S16_H
#define MOTE_CONV4X2_S16_H

#include "mote_blocks_s16.h"
#include "mote_dsp.h"

#if MOTE_DSP
#define MOTE_BLOCK4X2_S16(id, text) \
    __attribute__((naked, noinline, unused, aligned(4))) static void mote_##id( \
        const mote_block_s16_t *block __attribute__((unused))) { \
        __asm__ volatile(text); \
    }

#define MOTE_CONV4X2_S16_CODE(id, pixels, taps, line, pixel, channels, wide, s, lo, hi, text) \
    MOTE_BLOCK4X2_S16(id, text)
#else
/* Weight i of one of two channels. */
static inline int32_t mote_conv4x2_s16_weight(const int32_t *words, int32_t i, int32_t channel, int32_t wide) {
    const uint32_t word = (uint32_t)(wide ? words[i / 2 * 2 + channel] : words[i / 2]);
    return wide ? (int16_t)(uint16_t)(word >> i % 2 * 16) : (int8_t)(uint8_t)(word >> (i % 2 * 16 + channel * 8));
}

/* A line of an odd number of inputs is followed by a weight of zero. */
static inline void mote_conv4x2_s16_c(const mote_block_s16_t *b, int32_t pixels, int32_t taps, int32_t line,
                                      int32_t pixel, int32_t channels, int32_t wide, int32_t s, int32_t lo,
                                      int32_t hi) {
    const int32_t *stream = b->stream, words = (line + 1) / 2 * (wide ? 2 : 1);
    for (int32_t c = 0; c < channels; c += 2, stream += 4 + taps * words) {
        for (int32_t i = 0; i < 2 * pixels; i++) {
            const int32_t channel = i % 2, at = i / 2 * pixel;
            uint32_t sum = (uint32_t)stream[channel];
            for (int32_t k = 0; k < taps; k++) {
                for (int32_t j = 0; j < line; j++) {
                    const int32_t w = mote_conv4x2_s16_weight(stream + 2 + k * words, j, channel, wide);
                    sum += (uint32_t)(b->from[k][at + j] * w);
                }
            }
            b->to[i / 2 * channels + c + channel] =
                mote_clamp_s16(mote_rescale_high((int32_t)sum, stream[2 + taps * words + channel], s), lo, hi);
        }
    }
}

#define MOTE_CONV4X2_S16_CODE(id, pixels, taps, line, pixel, channels, wide, s, lo, hi, text) \
    MOTE_UNUSED static inline void mote_##id(const mote_block_s16_t *block) { \
        mote_conv4x2_s16_c(block, pixels, taps, line, pixel, channels, wide, s, lo, hi); \
    }
#endif

#endif
