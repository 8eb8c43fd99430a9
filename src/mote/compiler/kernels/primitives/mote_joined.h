/* mote_joined.h: products of four pixels for mote_joined_s8.h, which says how inputs, weights and constants lie. */
#ifndef MOTE_JOINED_H
#define MOTE_JOINED_H

#include "mote_swar.h"

#include "mote_joined_armv6m.h"

/* A channel's sums of four pixels, from where the stream has it; gives where its constants are. `words`: the inputs as
 * mote_swar_s8.h has them. */
MOTE_NOINLINE const int32_t *mote_joined_sums(const uint32_t *inputs, int32_t groups, const uint32_t *words,
                                              const int32_t *stream, int32_t *sum) {
    static const uint8_t slot[4] = {0, 1, 6, 7}, slot_of_words[4] = {0, 1, 4, 5};
    sum[0] = sum[1] = sum[2] = sum[3] = *stream++;
    for (; groups > 0; groups--, inputs += 12, stream++) {
        const uint32_t w = (uint32_t)*stream, taken = w >> 8 & 0x00FF00FFu;
        for (int32_t i = 0; i < 4; i++) {
            const uint32_t *const own = inputs + slot[i];
            sum[i] = mote_wrapping_add(sum[i], (int32_t)(own[0] * w + own[2] * taken + own[4]) >> 16);
        }
    }
    for (int32_t left = *stream++; left > 0; left--, stream += 2) {
        const uint32_t *const x = words + stream[0] / 4;
        for (int32_t i = 0; i < 4; i++) {
            sum[i] = mote_wrapping_add(sum[i], mote_swar_upper(x[slot_of_words[i]] * (uint32_t)stream[1]));
        }
    }
    return stream;
}

/* All channels of four pixels. */
#define MOTE_JOINED_RUN(form) \
    MOTE_UNUSED static inline void mote_joined_##form(const mote_swar_frame_t *f, int32_t groups, \
                                                      const uint32_t *words) { \
        const int32_t *stream = f->stream; \
        for (int32_t c = -f->channels; c < 0; c++, stream += MOTE_SWAR_##form) { \
            int32_t sum[4]; \
            stream = mote_joined_sums(f->inputs, groups, words, stream, sum); \
            for (int32_t i = 0; i < 4; i++) { \
                f->to[i][c] = mote_swar_to_##form(sum[i], stream); \
            } \
        } \
    }

#ifndef mote_joined_plain32
MOTE_JOINED_RUN(plain32)
#endif
#ifndef mote_joined_linear32
MOTE_JOINED_RUN(linear32)
#endif

#endif
