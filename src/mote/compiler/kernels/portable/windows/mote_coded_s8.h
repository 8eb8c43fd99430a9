/* mote_coded_s8.h: int8 convolutions whose weights are coded: those of some output channels are expanded into working
 * memory, and an ordinary kernel computes these channels of all pixels, then the next ones. */
#ifndef MOTE_CODED_S8_H
#define MOTE_CODED_S8_H

#include "mote_clear.h"
#include "mote_code.h"

typedef struct {
    mote_code_t code;
    const uint8_t *rest;        /* what is not coded: the first and the last bytes of each pair of channels */
    int32_t first, coded, last; /* bytes of a pair of channels, as the kernel reads them */
    int32_t channels;           /* that are expanded at once, an even number */
    int32_t step;               /* from the outputs of these to those of the next ones */
    int32_t count;              /* the pixels or rows that the kernel is asked for */
} mote_coded_t;

/* How far it got. */
typedef struct {
    uint32_t at;
    const uint8_t *rest;
} mote_expanding_t;

/* The weights from bit `at` on; where the next ones begin. Zeros of runs are already there. */
MOTE_NOINLINE MOTE_HOT uint32_t mote_expand(const mote_code_t *code, uint32_t at, int8_t *to, int32_t count) {
    const mote_code_t c = *code;
    const int8_t *const end = to + count;
    while (to < end) {
        int32_t place;
        if (mote_decode(&c, &at, &place) == c.run) {
            to += place;
        } else {
            *to++ = c.values[place];
        }
    }
    return at;
}

/* The next bytes of what is not coded; where the bytes behind them go. */
static inline int8_t *mote_take(mote_expanding_t *e, int8_t *to, int32_t bytes) {
    if (bytes > 0) {
        memcpy(to, e->rest, (size_t)bytes);
        e->rest += bytes;
    }
    return to + bytes;
}

/* The next channels, two at a time. */
MOTE_NOINLINE void mote_expand_channels(const mote_coded_t *p, mote_expanding_t *e, int32_t channels, int8_t *to) {
    for (; channels > 0; channels -= 2) {
        to = mote_take(e, to, p->first);
        mote_clear(to, p->coded);
        e->at = mote_expand(&p->code, e->at, to, p->coded);
        to = mote_take(e, to + p->coded, p->last);
    }
}

/* Bytes as words, of which they are the lowest ones first. */
static inline void mote_coded_words(int8_t *to, int32_t bytes) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    (void)to, (void)bytes;
#else
    for (const uint8_t *from = (const uint8_t *)to; bytes > 0; bytes -= 4, from += 4, to += 4) {
        *(uint32_t *)(void *)to = from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
    }
#endif
}

/* Of kernels whose weights are bytes, and of those that read a stream of words. */
#define mote_expand_channels_weights mote_expand_channels

static inline void mote_expand_channels_stream(const mote_coded_t *p, mote_expanding_t *e, int32_t channels,
                                               int8_t *to) {
    mote_expand_channels(p, e, channels, to);
    mote_coded_words(to, (channels + 1) / 2 * (p->first + p->coded + p->last));
}

/* The kernel `name` with weights that are expanded to where its `field` is to point, by a function for some channels of a
 * struct like the one above; the other arguments are those of its call behind the output: `count`, and `work`, its own
 * working memory behind that of the weights. */
#define MOTE_EXPANDED(kind, coded_t, expand, name, field, ...) \
    typedef struct { \
        mote_##name##_t plain; \
        coded_t coded; \
    } mote_##kind##_##name##_t; \
    MOTE_UNUSED static inline void mote_##kind##_##name(const mote_##kind##_##name##_t *p, const int8_t *in, \
                                                        int8_t *out, mote_any_t scratch) { \
        const int32_t count = p->coded.count, at_once = p->coded.channels; \
        const int32_t pair = p->coded.first + p->coded.coded + p->coded.last; \
        const mote_any_t work = (int8_t *)scratch + at_once / 2 * pair; \
        mote_##name##_t plain = p->plain; \
        mote_expanding_t e = {0, p->coded.rest}; \
        (void)work; \
        plain.gemm.field = scratch; \
        for (int32_t left = p->plain.gemm.channels; left > 0; left -= at_once, out += p->coded.step) { \
            plain.gemm.channels = mote_min(left, at_once); \
            expand(&p->coded, &e, plain.gemm.channels, scratch); \
            mote_##name(&plain, in, out, __VA_ARGS__); \
            MOTE_CODED_NEXT_##field(plain.gemm, at_once); \
        } \
    }

#define MOTE_CODED(name, field, ...) \
    MOTE_EXPANDED(coded, mote_coded_t, mote_expand_channels_##field, name, field, __VA_ARGS__)

/* What else a kernel has to be told about the next channels. */
#define MOTE_CODED_NEXT_stream(gemm, channels) ((void)0)
#define MOTE_CODED_NEXT_weights(gemm, channels) ((gemm).channel += (channels))

#endif
