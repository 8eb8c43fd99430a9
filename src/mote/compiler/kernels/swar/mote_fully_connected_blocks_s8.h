/* mote_fully_connected_blocks_s8.h: int8 fully connected layers with two products in one multiplication of 32 bits, in
 * blocks of `channels`, by a loop of mote_blocks.h.
 *
 * The stream has for each block: where its sums begin, the weights that the loop reads, then for each channel the number
 * of products that are left over, each with the place of its input word and a weight word, and the constants of
 * requantization, by `form`: see mote_swar_s8.h. Channels that are missing in the last block have nothing behind them.
 */
#ifndef MOTE_FULLY_CONNECTED_BLOCKS_S8_H
#define MOTE_FULLY_CONNECTED_BLOCKS_S8_H

#include "mote_blocks.h"
#include "mote_fully_connected_swar_s8.h"

/* A sum with the products that are left over; gives what is behind them. */
MOTE_NOINLINE const int32_t *mote_blocks_left(const uint32_t *inputs, const int32_t *stream, int32_t *sum) {
    int32_t left = *stream++;
    for (; left > 0; left--, stream += 2) {
        const uint32_t *const x = inputs + stream[0] / 4;
        const uint32_t word = stream[0] % 2 != 0 ? x[0] + (x[-1] << 8) : x[0]; /* the second of two: see mote_blocks.h */
        *sum = mote_wrapping_add(*sum, mote_swar_upper(word * (uint32_t)stream[1]));
    }
    return stream;
}

/* `pitch`: words of a group of inputs. */
#define MOTE_FULLY_CONNECTED_BLOCKS(form, loop, channels_, pitch) \
    typedef mote_fully_connected_swar_t mote_fully_connected_##loop##_##form##_t; \
    MOTE_NOINLINE void mote_fully_connected_##loop##_##form##_slowly(const mote_fully_connected_swar_t *p, \
                                                                     const uint32_t *inputs, const uint32_t *end, \
                                                                     int8_t *out) { \
        for (int32_t k = 0; k < p->slow; k++) { \
            const mote_fc_swar_again_t *const q = p->again + k; \
            const mote_channel_t channel = {0, q->mult, q->shift}; \
            const int32_t own = q->channel % (channels_); \
            int32_t sum[channels_]; \
            const int32_t *stream = mote_blocks_##loop(inputs, p->stream + q->at, end, sum); \
            for (int32_t i = 0; i < own; i++) { \
                stream = mote_blocks_left(inputs, stream, sum) + MOTE_SWAR_##form; \
            } \
            mote_blocks_left(inputs, stream, sum + own); \
            out[q->channel] = mote_finish_fc(sum[own], &channel, p->round_once, p->output); \
        } \
    } \
    MOTE_UNUSED static inline void mote_fully_connected_##loop##_##form(const mote_fully_connected_swar_t *p, \
                                                                        const int8_t *in, int8_t *out, \
                                                                        int32_t vectors, uint32_t *scratch) { \
        const uint32_t *const end = scratch + (pitch) * p->groups; \
        for (; vectors > 0; vectors--, in += p->depth, out += p->channels) { \
            const int32_t *stream = p->stream; \
            mote_blocks_widen_##loop(in, p->depth, scratch, p->groups); \
            for (int32_t c = 0; c < p->channels; c += (channels_)) { \
                int32_t sum[channels_]; \
                stream = mote_blocks_##loop(scratch, stream, end, sum); \
                for (int32_t i = 0; i < mote_min(p->channels - c, (channels_)); i++, stream += MOTE_SWAR_##form) { \
                    if (*stream == 0) { \
                        stream++; \
                    } else { \
                        stream = mote_blocks_left(scratch, stream, sum + i); \
                    } \
                    out[c + i] = mote_swar_to_##form(sum[i], stream); \
                } \
            } \
            if (p->slow > 0) { \
                mote_fully_connected_##loop##_##form##_slowly(p, scratch, end, out); \
            } \
        } \
    }

#endif
