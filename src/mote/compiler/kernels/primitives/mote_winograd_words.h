/* mote_winograd_words.h: the transforms and products of mote_winograd_words_s8.h, which says how inputs, weights and sums
 * lie. */
#ifndef MOTE_WINOGRAD_WORDS_H
#define MOTE_WINOGRAD_WORDS_H

#include "mote_common.h"

/* Outputs of one channel of a tile, of which `rows` and `columns` lie inside of the image. */
typedef struct {
    const int32_t *q; /* the channel's constants, behind its bias */
    int32_t lo, hi, rows, columns, stride, pixel;
} mote_winograd_words_to_t;

#include "mote_winograd_words_armv6m.h"

/* Four channels of a pixel, 128 more each: 0 and 2 as one number, and 1 and 3. */
MOTE_ALWAYS_INLINE void mote_winograd_words_pixel(const int8_t *from, uint32_t *even, uint32_t *odd) {
#if defined(__GNUC__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint32_t x;
    __builtin_memcpy(&x, __builtin_assume_aligned(from, 4), 4);
    x ^= 0x80808080u;
    *even = x & 0x00FF00FFu;
    *odd = x >> 8 & 0x00FF00FFu;
#else
    *even = (uint32_t)(from[0] + 128) | (uint32_t)(from[2] + 128) << 16;
    *odd = (uint32_t)(from[1] + 128) | (uint32_t)(from[3] + 128) << 16;
#endif
}

/* Six numbers, `step` words apart, transformed where they lie. */
MOTE_ALWAYS_INLINE void mote_winograd_words_six(uint32_t *x, int32_t step) {
    const uint32_t x0 = x[0], x1 = x[step], x2 = x[2 * step], x3 = x[3 * step], x4 = x[4 * step];
    const uint32_t c = x4 - x2, f = x3 - x1, a = x4 - 4 * x2, b = x3 - 4 * x1;
    x[0] = 4 * (x0 - x2) + c;
    x[step] = a + b;
    x[2 * step] = a - b;
    x[3 * step] = c + 2 * f;
    x[4 * step] = c - 2 * f;
    x[5 * step] -= x3 + 4 * f;
}

/* Six sums, `step` words apart, transformed back to four numbers, `apart` words apart, maybe where they lie. */
MOTE_ALWAYS_INLINE void mote_winograd_words_four(const uint32_t *m, int32_t step, uint32_t *y, int32_t apart) {
    const uint32_t b = m[step], c = m[2 * step], d = m[3 * step], e = m[4 * step], f = m[5 * step];
    const uint32_t sum = b + c, difference = b - c, sum2 = d + e, difference2 = d - e;
    y[0] = m[0] + sum + sum2;
    y[apart] = difference + 2 * difference2;
    y[2 * apart] = sum + 4 * sum2;
    y[3 * apart] = difference + 8 * difference2 + 4 * f;
}

/* The transformed inputs of a tile whose pixels lie `depth` bytes apart and its rows `row`: each word `step` words from
 * the one of the channel before. */
#ifndef mote_winograd_words_inputs
MOTE_NOINLINE MOTE_HOT void mote_winograd_words_inputs(const int8_t *from, int32_t row, int32_t depth, uint32_t *to,
                                                       int32_t step) {
    const int32_t position = depth * step;
    for (int32_t c = 0; c < depth; c += 4, from += 4, to += 4 * step) {
        uint32_t words[72]; /* of even channels, then of odd ones */
        for (int32_t i = 0; i < 6; i++) {
            const int8_t *at = from + i * row;
            for (uint32_t *x = words + 6 * i, *const end = x + 6; x != end; x++, at += depth) {
                mote_winograd_words_pixel(at, x, x + 36);
            }
        }
        for (int32_t odd = 0; odd < 2; odd++) {
            uint32_t *x = words + 36 * odd, *at = to + odd * step;
            for (const uint32_t *const end = x + 6; x != end; x++) {
                mote_winograd_words_six(x, 6);
            }
            x -= 6;
            for (int32_t i = 0; i < 6; i++) {
                mote_winograd_words_six(x, 1);
                for (const uint32_t *const end = x + 6; x != end; at += position) {
                    const uint32_t both = *x++, low = (uint32_t)(int32_t)(int16_t)(uint16_t)both;
                    at[0] = low;
                    at[2 * step] = (uint32_t)((int32_t)(both - low) >> 16);
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
