/* mote_winograd_words.h: the transforms and products of mote_winograd_words_s8.h, which says how inputs, weights and sums
 * lie. */
#ifndef MOTE_WINOGRAD_WORDS_H
#define MOTE_WINOGRAD_WORDS_H

#include "mote_common.h"

#include "mote_winograd_words_armv6m.h"

/* Channels c and c + 2 of a pixel, 128 more each, as one number. */
MOTE_ALWAYS_INLINE uint32_t mote_winograd_words_pair(const int8_t *from) {
    return (uint32_t)(from[0] + 128) | (uint32_t)(from[2] + 128) << 16;
}

/* Six numbers, `step` words apart, transformed. */
MOTE_ALWAYS_INLINE void mote_winograd_words_six(const uint32_t *x, uint32_t *y) {
    const uint32_t c = x[4] - x[2], f = x[3] - x[1], a = x[4] - 4 * x[2], b = x[3] - 4 * x[1];
    y[0] = 4 * (x[0] - x[2]) + c;
    y[1] = a + b;
    y[2] = a - b;
    y[3] = c + 2 * f;
    y[4] = c - 2 * f;
    y[5] = x[5] - x[3] - 4 * f;
}

/* Six sums, `step` words apart, transformed back to four numbers, `apart` words apart. */
MOTE_ALWAYS_INLINE void mote_winograd_words_four(const uint32_t *m, int32_t step, uint32_t *y, int32_t apart) {
    const uint32_t b = m[step], c = m[2 * step], d = m[3 * step], e = m[4 * step];
    const uint32_t sum = b + c, difference = b - c, sum2 = d + e, difference2 = d - e;
    y[0] = m[0] + sum + sum2;
    y[apart] = difference + 2 * difference2;
    y[2 * apart] = sum + 4 * sum2;
    y[3 * apart] = difference + 8 * difference2 + 4 * m[5 * step];
}

/* The transformed inputs of a tile whose pixels lie `depth` bytes apart and its rows `row`: each word `step` words from
 * the one of the channel before. */
#ifndef mote_winograd_words_inputs
MOTE_NOINLINE MOTE_HOT void mote_winograd_words_inputs(const int8_t *from, int32_t row, int32_t depth, uint32_t *to,
                                                       int32_t step) {
    const int32_t position = depth * step;
    for (int32_t c = 0; c < depth; c += 4, from += 4, to += 4 * step) {
        for (int32_t odd = 0; odd < 2; odd++) {
            uint32_t columns[6][6], x[6], y[6];
            for (int32_t k = 0; k < 6; k++) {
                for (int32_t i = 0; i < 6; i++) {
                    x[i] = mote_winograd_words_pair(from + odd + i * row + k * depth);
                }
                mote_winograd_words_six(x, y);
                for (int32_t i = 0; i < 6; i++) {
                    columns[i][k] = y[i];
                }
            }
            uint32_t *at = to + odd * step;
            for (int32_t i = 0; i < 6; i++) {
                mote_winograd_words_six(columns[i], y);
                for (int32_t k = 0; k < 6; k++, at += position) {
                    const uint32_t low = (uint32_t)(int32_t)(int16_t)(uint16_t)y[k];
                    at[0] = low;
                    at[2 * step] = (uint32_t)((int32_t)(y[k] - low) >> 16);
                }
            }
        }
    }
}
#endif

/* mote_winograd_words_ID_products: the sums of all positions, of so many tiles and channels. */
#define MOTE_WINOGRAD_WORDS_LOOP(id, tiles, lanes) \
    MOTE_NOINLINE MOTE_HOT const int16_t *mote_winograd_words_##id##_products(const uint32_t *v, const int16_t *u, \
                                                                              uint32_t *m, int32_t depth) { \
        for (int32_t position = 0; position < 36; position++) { \
            uint32_t sums[(tiles) * (lanes)] = {0}; \
            for (int32_t c = 0; c < depth; c++, v += (tiles), u += (lanes)) { \
                for (int32_t k = 0; k < (lanes); k++) { \
                    const int32_t weight = u[k]; \
                    for (int32_t i = 0; i < (tiles); i++) { \
                        sums[k * (tiles) + i] += v[i] * (uint32_t)weight; \
                    } \
                } \
            } \
            for (int32_t i = 0; i < (tiles) * (lanes); i++) { \
                *m++ = sums[i]; \
            } \
        } \
        return u; \
    }

#ifndef MOTE_WINOGRAD_WORDS_CODE
#define MOTE_WINOGRAD_WORDS_CODE(id, tiles, lanes, text) MOTE_WINOGRAD_WORDS_LOOP(id, tiles, lanes)
#endif

#endif
