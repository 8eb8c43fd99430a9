/* mote_fully_connected_nibbles_s8.h: int8 fully connected layers whose weights have 4 bits and lie two in a byte, eight
 * outputs at a time, and four at the end: what surrounds the sums that instruction sets add up.
 *
 * Nibbles are weights and 8 more, so that they are never negative; 8 times the sum of a vector's inputs is taken off where
 * sums begin. A `form` of weights is a number of inputs, MOTE_NIBBLES_FORM, that come together, and two functions:
 * mote_nibbles_eight_FORM and mote_nibbles_four_FORM add the products of some such groups to so many sums. */
#ifndef MOTE_FULLY_CONNECTED_NIBBLES_S8_H
#define MOTE_FULLY_CONNECTED_NIBBLES_S8_H

#include "mote_fully_connected_s8.h"

typedef struct {
    int32_t depth, channels, round_once;
    mote_output_t output;
    const uint32_t *weights; /* of eight outputs, where more than four are left, then of four */
    const mote_channel_t *channel;
} mote_fully_connected_nibbles_t;

/* Where the sums of some outputs begin; `part` is the sum of the inputs. */
MOTE_NOINLINE MOTE_HOT void mote_nibbles_begin(const mote_channel_t *q, int32_t count, int32_t part, int32_t *sums) {
    for (const int32_t *const end = sums + count; sums != end; q++) {
        *sums++ = mote_wrapping_add(q->bias, -8 * part);
    }
}

MOTE_NOINLINE MOTE_HOT void mote_nibbles_finish(const mote_fully_connected_nibbles_t *p, const mote_channel_t *q,
                                                const int32_t *sums, int32_t count, int8_t *out) {
    const mote_output_t o = p->output;
    const int32_t *const end = sums + count;
    if (p->round_once) {
        for (; sums != end; q++) {
            *out++ = mote_finish_fc(*sums++, q, 1, o);
        }
    } else {
        for (; sums != end; q++) {
            *out++ = mote_finish_fc(*sums++, q, 0, o);
        }
    }
}

#define MOTE_FULLY_CONNECTED_NIBBLES(form) \
    typedef mote_fully_connected_nibbles_t mote_fully_connected_nibbles_##form##_t; \
    MOTE_NOINLINE void mote_fully_connected_nibbles_##form(const mote_fully_connected_nibbles_t *p, const int8_t *in, \
                                                           int8_t *out, int32_t vectors) { \
        const int32_t depth = p->depth, whole = depth / MOTE_NIBBLES_##form, rest = depth % MOTE_NIBBLES_##form; \
        const int32_t words = MOTE_NIBBLES_##form / 2, all = (whole + (rest > 0)) * words; \
        for (; vectors > 0; vectors--, in += depth) { \
            const mote_channel_t *q = p->channel; \
            const uint32_t *w = p->weights; \
            int8_t tail[MOTE_NIBBLES_##form] = {0}; \
            int32_t sums[8], part = 0, count; \
            for (int32_t i = 0; i < depth; i++) { \
                part += in[i]; \
            } \
            memcpy(tail, in + depth - rest, (size_t)rest); \
            for (int32_t left = p->channels; left > 0; left -= count, q += count, out += count) { \
                count = mote_min(left, 8); \
                mote_nibbles_begin(q, count, part, sums); \
                if (left > 4) { \
                    if (whole > 0) { \
                        mote_nibbles_eight_##form(in, w, whole, sums); \
                    } \
                    if (rest > 0) { \
                        mote_nibbles_eight_##form(tail, w + 2 * whole * words, 1, sums); \
                    } \
                    w += 2 * all; \
                } else { \
                    if (whole > 0) { \
                        mote_nibbles_four_##form(in, w, whole, sums); \
                    } \
                    if (rest > 0) { \
                        mote_nibbles_four_##form(tail, w + whole * words, 1, sums); \
                    } \
                } \
                mote_nibbles_finish(p, q, sums, count, out); \
            } \
        } \
    }

#endif
