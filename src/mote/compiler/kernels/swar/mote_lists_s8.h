/* mote_lists_s8.h: int8 convolutions with few distinct weights (binary, ternary) and without their products: inputs of equal
 * weight are added up, four pixels at a time, and each of these sums is multiplied once.
 *
 * Inputs are widened as in mote_swar_s8.h, then turned: for each input two words, {pixel 0, 1} and {pixel 2, 3}, each a
 * half of 16 bits that is 128 more than the input. Sums of up to 257 inputs fit such a half.
 *
 * The stream has for each channel: where its sum begins, the weight that most of its inputs have, which is multiplied by
 * the sum of all inputs; then for each list of inputs whose weight is another: how much more that is, the place in bytes of
 * the list's first input, how many it has in the upper half of that word, and a byte for each, the first one in the lowest
 * bits: how many bytes are left out before it; a zero behind the last list; and the constants of requantization behind
 * another zero, or, where there are none, a one, a multiplier, a shift and the zero point of the output.
 */
#ifndef MOTE_LISTS_S8_H
#define MOTE_LISTS_S8_H

#include "mote_lists.h"
#include "mote_swar_s8.h"

/* Turns groups of four inputs of four pixels where they lie; the sums of all inputs, 128 more each. */
MOTE_NOINLINE MOTE_HOT void mote_lists_turn(uint32_t *words, const uint32_t *end, int32_t *total) {
    total[0] = total[1] = total[2] = total[3] = 0;
    while (words != end) {
        uint32_t first = 0, second = 0;
        for (int32_t left = 64; left > 0 && words != end; left--, words += 8) {
            for (int32_t pair = 0; pair < 4; pair += 2) { /* inputs 0 and 2, then 1 and 3 */
                const uint32_t p = words[pair] + 0x00800080u, q = words[pair + 1] + 0x00800080u;
                const uint32_t r = words[pair + 4] + 0x00800080u, s = words[pair + 5] + 0x00800080u;
                const uint32_t low = (p & 0xffffu) | q << 16, high = p >> 16 | (q & 0xffff0000u);
                const uint32_t low2 = (r & 0xffffu) | s << 16, high2 = r >> 16 | (s & 0xffff0000u);
                words[pair] = low;
                words[pair + 1] = low2;
                words[pair + 4] = high;
                words[pair + 5] = high2;
                first += low + high;
                second += low2 + high2;
            }
        }
        total[0] += (int32_t)(first & 0xffffu);
        total[1] += (int32_t)(first >> 16);
        total[2] += (int32_t)(second & 0xffffu);
        total[3] += (int32_t)(second >> 16);
    }
}

/* An output that is requantized step by step. */
MOTE_NOINLINE int8_t mote_lists_stepwise(int32_t sum, const int32_t *q) {
    return mote_clamp(MOTE_PLUS(mote_rescale(sum, q[0], q[1]), q[2]), -128, 127);
}

/* All channels of four pixels, whose outputs are made by `form`: see mote_swar_s8.h. */
#define MOTE_LISTS(form) \
    MOTE_UNUSED static inline void mote_swar_lists_##form(const mote_swar_frame_t *f) { \
        const int32_t *stream = f->stream; \
        int32_t total[4], sum[4]; \
        mote_lists_turn((uint32_t *)(uintptr_t)f->inputs, f->end, total); \
        for (int32_t c = -f->channels; c < 0; c++, stream += MOTE_SWAR_##form) { \
            const int32_t begin = *stream++, weight = *stream++; \
            for (int32_t i = 0; i < 4; i++) { \
                sum[i] = mote_wrapping_add(begin, weight * total[i]); \
            } \
            stream = mote_lists_sums(f->inputs, stream, sum); \
            if (*stream++ == 0) { \
                for (int32_t i = 0; i < 4; i++) { \
                    f->to[i][c] = mote_swar_to_##form(sum[i], stream); \
                } \
            } else { \
                for (int32_t i = 0; i < 4; i++) { \
                    f->to[i][c] = mote_lists_stepwise(sum[i], stream); \
                } \
            } \
        } \
    }

#define MOTE_POINTWISE_LISTS(form) MOTE_POINTWISE_SWAR(lists_##form)
#define MOTE_CONV_LISTS(form) MOTE_CONV_SWAR(lists_##form)

#endif
