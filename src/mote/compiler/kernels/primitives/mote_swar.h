/* mote_swar.h: products of four pixels with two in one multiplication of 32 bits, for mote_swar_s8.h, which says how
 * inputs, weights and constants lie. */
#ifndef MOTE_SWAR_H
#define MOTE_SWAR_H

#include "mote_common.h"

typedef struct {
    const uint32_t *inputs, *end; /* widened */
    const int32_t *stream;
    int32_t channels;
    int8_t *to[4]; /* behind each pixel's last output */
} mote_swar_frame_t;

#include "mote_swar_armv6m.h"
#include "mote_swar_armv7m.h"
#include "mote_swar_rv32m.h"

/* A few bytes, from anywhere to anywhere: the C library's memcpy takes longer to begin. */
#ifndef mote_swar_copy
static inline void mote_swar_copy(const int8_t *from, int32_t count, int8_t *to) { memcpy(to, from, (size_t)count); }
#endif

/* Groups of four inputs as words, for one pixel of four. */
#ifndef mote_swar_spread
MOTE_NOINLINE MOTE_HOT void mote_swar_spread(const int8_t *from, int32_t groups, uint32_t *to) {
    for (; groups > 0; groups--, from += 4, to += 8) {
        to[0] = (uint32_t)from[0] + ((uint32_t)from[2] << 16);
        to[2] = (uint32_t)from[1] + ((uint32_t)from[3] << 16);
    }
}
#endif

/* Those of four pixels, `step` apart. */
#ifndef mote_swar_spread4
MOTE_UNUSED static inline void mote_swar_spread4(const int8_t *from, int32_t step, int32_t groups, uint32_t *to) {
    mote_swar_spread(from, groups, to);
    mote_swar_spread(from + step, groups, to + 1);
    mote_swar_spread(from + 2 * step, groups, to + 4);
    mote_swar_spread(from + 3 * step, groups, to + 5);
}
#endif

static inline int32_t mote_swar_upper(uint32_t product) { return (int32_t)(product + 0x8000u) >> 16; }

/* A channel's sums of four pixels, from where the stream has it; gives where its constants are. */
MOTE_NOINLINE const int32_t *mote_swar_sums(const uint32_t *inputs, int32_t groups, const int32_t *stream,
                                            int32_t *sum) {
    static const uint8_t slot[4] = {0, 1, 4, 5};
    const uint32_t *x = inputs;
    sum[0] = sum[1] = sum[2] = sum[3] = *stream++;
    for (; groups > 0; groups--, x += 8, stream += 2) {
        for (int32_t i = 0; i < 4; i++) {
            const uint32_t *const own = x + slot[i];
            sum[i] = mote_wrapping_add(
                sum[i], mote_swar_upper(own[0] * (uint32_t)stream[0] + own[2] * (uint32_t)stream[1]));
        }
    }
    for (int32_t left = *stream++; left > 0; left--, stream += 2) {
        x = inputs + stream[0] / 4;
        for (int32_t i = 0; i < 4; i++) {
            sum[i] = mote_wrapping_add(sum[i], mote_swar_upper(x[slot[i]] * (uint32_t)stream[1]));
        }
    }
    return stream;
}

/* A group of four inputs of a vector: two words, and what takes 128 off each weight, with the half of 2^16. */
static inline void mote_swar_widen_group(const int8_t *x, uint32_t *to) {
    to[0] = (uint32_t)x[0] + ((uint32_t)x[2] << 16);
    to[1] = (uint32_t)x[1] + ((uint32_t)x[3] << 16);
    to[2] = 0x8000u - 0x00800080u * (to[0] + to[1]);
}

/* `count` inputs, with zeros behind them. */
MOTE_NOINLINE MOTE_HOT void mote_swar_widen(const int8_t *from, int32_t count, uint32_t *to, int32_t groups) {
    for (; count > 3; count -= 4, groups--, from += 4, to += 3) {
        mote_swar_widen_group(from, to);
    }
    for (; groups > 0; groups--, count = 0, to += 3) {
        int8_t rest[4] = {0, 0, 0, 0};
        memcpy(rest, from, (size_t)count);
        mote_swar_widen_group(rest, to);
    }
}

/* The sums of four channels of one vector: where they begin, then for each group a word of each channel, bytes that are 128
 * more than the weights of inputs 2, 3, 0 and 1. Gives what is behind that. */
#ifndef mote_swar_vector
MOTE_NOINLINE const int32_t *mote_swar_vector(const uint32_t *inputs, const int32_t *stream, const uint32_t *end,
                                              int32_t *sum) {
    memcpy(sum, stream, 4 * sizeof *sum);
    for (stream += 4; inputs != end; inputs += 3) {
        for (int32_t i = 0; i < 4; i++, stream++) {
            const uint32_t w = (uint32_t)*stream;
            const uint32_t product = inputs[0] * (w & 0x00FF00FFu) + inputs[1] * (w >> 8 & 0x00FF00FFu) + inputs[2];
            sum[i] = mote_wrapping_add(sum[i], (int32_t)product >> 16);
        }
    }
    return stream;
}
#endif

static inline int32_t mote_swar_high(int32_t x, int32_t mult) { return (int32_t)(((int64_t)x * mult) >> 32); }

static inline int8_t mote_swar_to_plain(int32_t x, const int32_t *q) {
    return mote_saturate_s8(mote_wrapping_add(mote_swar_high(x, q[0]), q[1]) >> q[2]);
}

static inline int8_t mote_swar_to_linear(int32_t x, const int32_t *q) {
    const int32_t high = mote_swar_high((int32_t)((uint32_t)x << 2), q[0]);
    return mote_saturate_s8(mote_wrapping_add(high, mote_wrapping_add(q[1], x < 0 ? -q[3] : 0)) >> q[2]);
}

static inline uint32_t mote_swar_word(int32_t x, const int32_t *q, uint32_t *u) {
    *u = x < 0 ? 0u : (uint32_t)(x > q[0] ? q[0] : x);
    return *u * (uint32_t)q[1] + (*u * (uint32_t)q[2] >> q[4]) + (uint32_t)q[3];
}

static inline int8_t mote_swar_to_plain32(int32_t x, const int32_t *q) {
    uint32_t u;
    return (int8_t)(uint8_t)(mote_swar_word(x, q, &u) >> 24);
}

static inline int8_t mote_swar_to_linear32(int32_t x, const int32_t *q) {
    uint32_t u;
    const uint32_t word = mote_swar_word(x, q, &u);
    return (int8_t)(uint8_t)((word + (u < (uint32_t)q[5] ? 0u : (uint32_t)q[6])) >> 24);
}

enum { MOTE_SWAR_plain = 3, MOTE_SWAR_linear = 4, MOTE_SWAR_plain32 = 5, MOTE_SWAR_linear32 = 7 };

/* All channels of four pixels. */
#define MOTE_SWAR_RUN(form) \
    MOTE_UNUSED static inline void mote_swar_##form(const mote_swar_frame_t *f) { \
        const int32_t *stream = f->stream; \
        for (int32_t c = -f->channels; c < 0; c++, stream += MOTE_SWAR_##form) { \
            int32_t sum[4]; \
            stream = mote_swar_sums(f->inputs, (int32_t)(f->end - f->inputs) / 8, stream, sum); \
            for (int32_t i = 0; i < 4; i++) { \
                f->to[i][c] = mote_swar_to_##form(sum[i], stream); \
            } \
        } \
    }

#ifndef mote_swar_plain
MOTE_SWAR_RUN(plain)
#endif
#ifndef mote_swar_linear
MOTE_SWAR_RUN(linear)
#endif
#ifndef mote_swar_plain32
MOTE_SWAR_RUN(plain32)
#endif
#ifndef mote_swar_linear32
MOTE_SWAR_RUN(linear32)
#endif

#endif
