/* mote_fully_connected_swar_s8.h: int8 fully connected layers with two products in one multiplication of 32 bits, and one
 * byte for each weight.
 *
 * Four channels at a time. The stream has for each four of them: where their sums begin; for each group of four inputs a
 * word of each channel; then for each channel the number of products that are left over, each with the place of its input
 * word in bytes and a weight word, and the constants of requantization, by `form`: see mote_swar_s8.h. Channels that are
 * missing in the last four have weights of zero and nothing behind them. The number of groups is even.
 */
#ifndef MOTE_FULLY_CONNECTED_SWAR_S8_H
#define MOTE_FULLY_CONNECTED_SWAR_S8_H

#include "mote_fully_connected_s8.h"
#include "mote_swar.h"

/* A channel that is requantized step by step. */
typedef struct {
    int32_t channel, at, mult, shift; /* `at`: where the stream has the four that it is one of */
} mote_fc_swar_again_t;

typedef struct {
    int32_t depth, groups, channels, round_once;
    const int32_t *stream;
    int32_t slow; /* channels without constants */
    const mote_fc_swar_again_t *again;
    mote_output_t output; /* of these */
} mote_fully_connected_swar_t;

/* A sum with the products that are left over; gives what is behind them. */
static inline const int32_t *mote_fc_swar_left(const uint32_t *inputs, const int32_t *stream, int32_t *sum) {
    int32_t left = *stream++;
    for (; left > 0; left--, stream += 2) {
        *sum = mote_wrapping_add(*sum, mote_swar_upper(inputs[stream[0] / 4] * (uint32_t)stream[1]));
    }
    return stream;
}

MOTE_NOINLINE void mote_fc_swar_slowly(const mote_fully_connected_swar_t *p, const uint32_t *inputs, int32_t constants,
                                       int8_t *out) {
    for (int32_t k = 0; k < p->slow; k++) {
        const mote_fc_swar_again_t *const q = p->again + k;
        const mote_channel_t channel = {0, q->mult, q->shift};
        int32_t sum[4];
        const int32_t *stream = mote_swar_vector(inputs, p->stream + q->at, inputs + 3 * p->groups, sum);
        for (int32_t i = 0; i < q->channel % 4; i++) {
            stream = mote_fc_swar_left(inputs, stream, sum) + constants;
        }
        mote_fc_swar_left(inputs, stream, sum + q->channel % 4);
        out[q->channel] = mote_finish_fc(sum[q->channel % 4], &channel, p->round_once, p->output);
    }
}

#define MOTE_FULLY_CONNECTED_SWAR(form) \
    typedef mote_fully_connected_swar_t mote_fully_connected_swar_##form##_t; \
    MOTE_UNUSED static inline void mote_fully_connected_swar_##form(const mote_fully_connected_swar_t *p, \
                                                                    const int8_t *in, int8_t *out, int32_t vectors, \
                                                                    uint32_t *scratch) { \
        const uint32_t *const end = scratch + 3 * p->groups; \
        for (; vectors > 0; vectors--, in += p->depth, out += p->channels) { \
            const int32_t *stream = p->stream; \
            mote_swar_widen(in, p->depth, scratch, p->groups); \
            for (int32_t c = 0; c < p->channels; c += 4) { \
                int32_t sum[4]; \
                stream = mote_swar_vector(scratch, stream, end, sum); \
                for (int32_t i = 0; i < mote_min(p->channels - c, 4); i++, stream += MOTE_SWAR_##form) { \
                    stream = mote_fc_swar_left(scratch, stream, sum + i); \
                    out[c + i] = mote_swar_to_##form(sum[i], stream); \
                } \
            } \
            if (p->slow > 0) { \
                mote_fc_swar_slowly(p, scratch, MOTE_SWAR_##form, out); \
            } \
        } \
    }

#endif
