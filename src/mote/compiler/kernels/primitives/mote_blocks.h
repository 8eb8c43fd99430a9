/* mote_blocks.h: sums of several channels of one vector with two products in one multiplication of 32 bits, for
 * mote_fully_connected_blocks_s8.h. The products of a group of inputs are added up before the upper half is taken.
 *
 *   joined4x4   four channels, four inputs a group. A weight is a byte that is 128 more; those of inputs 2, 3, 0 and 1
 *               are a word W = A + 256 B, of which only B is taken out: with x the word of inputs 0 and 2 and y that of
 *               inputs 1 and 3, x A + y B = x W + (y - 256 x) B. Words of a group: x, y - 256 x, and what takes 128 off
 *               each weight, with the half of 2^16.
 *   joined4x8   eight inputs a group, with two such pairs of words before the last one; two words of weights a channel
 *   joined8x8   eight channels
 *   words4x4    four channels, two bytes a weight: w1 + w0 * 2^16 and w3 + w2 * 2^16. Words of a group: x, y
 *
 * The stream has for each block of channels where its sums begin, and for each group the words of each channel. */
#ifndef MOTE_BLOCKS_H
#define MOTE_BLOCKS_H

#include "mote_swar.h"

#include "mote_blocks_armv6m.h"
#include "mote_blocks_rv32m.h"

/* Inputs 0 to 3, of which `count` are there. */
static inline void mote_blocks_pair(const int8_t *from, int32_t count, uint32_t *x, uint32_t *y) {
    int8_t rest[4] = {0, 0, 0, 0};
    if (count < 4) {
        memcpy(rest, from, (size_t)(count > 0 ? count : 0));
        from = rest;
    }
    *x = (uint32_t)from[0] + ((uint32_t)from[2] << 16);
    *y = (uint32_t)from[1] + ((uint32_t)from[3] << 16);
}

/* `pairs` of words for each group, and the word behind them. */
MOTE_ALWAYS_INLINE void mote_blocks_join(const int8_t *from, int32_t count, uint32_t *to, int32_t groups, int32_t pairs) {
    for (; groups > 0; groups--) {
        uint32_t sum = 0;
        for (int32_t i = 0; i < pairs; i++, from += 4, count -= 4, to += 2) {
            uint32_t x, y;
            mote_blocks_pair(from, count, &x, &y);
            to[0] = x;
            to[1] = y - (x << 8);
            sum += x + y;
        }
        *to++ = 0x8000u - 0x00800080u * sum;
    }
}

#define MOTE_BLOCKS_JOIN(loop, pairs) \
    MOTE_NOINLINE MOTE_HOT void mote_blocks_widen_##loop(const int8_t *from, int32_t count, uint32_t *to, \
                                                         int32_t groups) { \
        mote_blocks_join(from, count, to, groups, pairs); \
    }
MOTE_BLOCKS_JOIN(joined4x4, 1)
MOTE_BLOCKS_JOIN(joined4x8, 2)
MOTE_BLOCKS_JOIN(joined8x8, 2)

MOTE_NOINLINE MOTE_HOT void mote_blocks_widen_words4x4(const int8_t *from, int32_t count, uint32_t *to,
                                                       int32_t groups) {
    for (; groups > 0; groups--, from += 4, count -= 4, to += 2) {
        mote_blocks_pair(from, count, to, to + 1);
    }
}

#define MOTE_BLOCKS_TAKE(word) ((word) >> 8 & 0x00FF00FFu)
#define MOTE_BLOCKS_SUM(sum, product) sum += (uint32_t)((int32_t)(product) >> 16)

/* A channel's products with the four inputs of a group, or its eight. */
#define MOTE_BLOCKS_FOUR(i) \
    do { \
        const uint32_t v_ = (uint32_t)stream[i]; \
        MOTE_BLOCKS_SUM(sum##i, x0 * v_ + y0 * MOTE_BLOCKS_TAKE(v_) + more); \
    } while (0)
#define MOTE_BLOCKS_EIGHT(i) \
    do { \
        const uint32_t v_ = (uint32_t)stream[2 * (i)], w_ = (uint32_t)stream[2 * (i) + 1]; \
        MOTE_BLOCKS_SUM(sum##i, x0 * v_ + y0 * MOTE_BLOCKS_TAKE(v_) + x1 * w_ + y1 * MOTE_BLOCKS_TAKE(w_) + more); \
    } while (0)
#define MOTE_BLOCKS_TWO_BYTES(i) \
    MOTE_BLOCKS_SUM(sum##i, x0 * (uint32_t)stream[2 * (i)] + y0 * (uint32_t)stream[2 * (i) + 1] + 0x8000u)

#define MOTE_BLOCKS_BEGIN4 \
    uint32_t sum0 = (uint32_t)stream[0], sum1 = (uint32_t)stream[1], sum2 = (uint32_t)stream[2]; \
    uint32_t sum3 = (uint32_t)stream[3]
#define MOTE_BLOCKS_BEGIN8 \
    MOTE_BLOCKS_BEGIN4, sum4 = (uint32_t)stream[4], sum5 = (uint32_t)stream[5], sum6 = (uint32_t)stream[6], \
                        sum7 = (uint32_t)stream[7]
#define MOTE_BLOCKS_EACH4(of) \
    of(0); \
    of(1); \
    of(2); \
    of(3)
#define MOTE_BLOCKS_EACH8(of) \
    MOTE_BLOCKS_EACH4(of); \
    of(4); \
    of(5); \
    of(6); \
    of(7)
#define MOTE_BLOCKS_END(i) sum[i] = (int32_t)sum##i
#define MOTE_BLOCKS_INPUTS4 const uint32_t x0 = inputs[0], y0 = inputs[1], more = inputs[2]
#define MOTE_BLOCKS_INPUTS8 \
    const uint32_t x0 = inputs[0], y0 = inputs[1], x1 = inputs[2], y1 = inputs[3], more = inputs[4]
#define MOTE_BLOCKS_INPUTS2 const uint32_t x0 = inputs[0], y0 = inputs[1]

#define MOTE_BLOCKS_LOOP(loop, channels, words, pitch, load, of) \
    MOTE_NOINLINE MOTE_HOT const int32_t *mote_blocks_##loop(const uint32_t *inputs, const int32_t *stream, \
                                                             const uint32_t *end, int32_t *sum) { \
        MOTE_BLOCKS_BEGIN##channels; \
        for (stream += channels; inputs != end; inputs += pitch, stream += (channels) * (words)) { \
            load; \
            MOTE_BLOCKS_EACH##channels(of); \
        } \
        MOTE_BLOCKS_EACH##channels(MOTE_BLOCKS_END); \
        return stream; \
    }

#ifndef mote_blocks_joined4x4
MOTE_BLOCKS_LOOP(joined4x4, 4, 1, 3, MOTE_BLOCKS_INPUTS4, MOTE_BLOCKS_FOUR)
#endif
#ifndef mote_blocks_joined4x8
MOTE_BLOCKS_LOOP(joined4x8, 4, 2, 5, MOTE_BLOCKS_INPUTS8, MOTE_BLOCKS_EIGHT)
#endif
#ifndef mote_blocks_joined8x8
MOTE_BLOCKS_LOOP(joined8x8, 8, 2, 5, MOTE_BLOCKS_INPUTS8, MOTE_BLOCKS_EIGHT)
#endif
#ifndef mote_blocks_words4x4
MOTE_BLOCKS_LOOP(words4x4, 4, 2, 2, MOTE_BLOCKS_INPUTS2, MOTE_BLOCKS_TWO_BYTES)
#endif

#endif
