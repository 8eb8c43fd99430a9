/* mote_fully_connected_eights_s16.h: fully connected layers of int16 vectors with int8 weights, eight outputs at a time,
 * and then two: what surrounds the sums that instruction sets add up. A `form` of weights is three functions:
 * mote_fc8_s16_eight_FORM and mote_fc8_s16_two_FORM add the products of a vector to the first sums of eight,
 * mote_fc8_s16_words_FORM says how many words the weights of two outputs take. What follows the sums is one of
 * mote_layer.h. */
#ifndef MOTE_FULLY_CONNECTED_EIGHTS_S16_H
#define MOTE_FULLY_CONNECTED_EIGHTS_S16_H

#include "mote_layer.h"

#define MOTE_FULLY_CONNECTED_EIGHTS_S16(name, finish_t, start_of, finish_of, form) \
    typedef struct { \
        int32_t depth, channels; \
        const int32_t *weights; \
        finish_t finish; \
    } mote_##name##_t; \
\
    MOTE_NOINLINE void mote_##name(const mote_##name##_t *p, const int16_t *in, int16_t *out, int32_t vectors) { \
        const finish_t *f = &p->finish; \
        const int32_t depth = p->depth, channels = p->channels, words = mote_fc8_s16_words_##form(depth); \
        for (; vectors > 0; vectors--, in += depth, out += channels) { \
            const int32_t *w = p->weights; \
            for (int32_t c = 0, count; c < channels; c += count) { \
                int32_t sums[8] = {0}; \
                count = mote_min(channels - c, channels - c >= 8 ? 8 : 2); \
                for (int32_t i = 0; i < count; i++) { \
                    sums[i] = start_of(f, c + i); \
                } \
                if (count == 8) { \
                    mote_fc8_s16_eight_##form(in, w, depth, sums); \
                    w += 4 * words; \
                } else { \
                    mote_fc8_s16_two_##form(in, w, depth, sums); \
                    w += words; \
                } \
                for (int32_t i = 0; i < count; i++) { \
                    out[c + i] = finish_of(f, c + i, sums[i]); \
                } \
            } \
        } \
    }

#endif
