/* mote_conv_fours_s16.h: int16 convolutions with int8 weights, four pixels at a time, for cores that multiply 32 bits and
 * have no SIMD instructions.
 *
 * The inputs of four pixels become words in working memory, once for all channels; the last pixel stands in for those that
 * a block lacks, and a block of one has a word for each input. The stream has for each channel its bias, its weights, four
 * in a word, a multiplier of 15 bits in the upper half of a word and the shift to the right behind it. The compiler has
 * proved that sums fit 32 bits. */
#ifndef MOTE_CONV_FOURS_S16_H
#define MOTE_CONV_FOURS_S16_H

#include "mote_blocks_s16.h"
#include "mote_fours_s16.h"
#include "mote_upper_s16.h"

/* Windows of `taps` rows of `line` inputs; those of neighbours are `pixel` inputs apart. */
typedef struct {
    int32_t taps, line, pixel, channels, lo, hi;
} mote_fours_s16_t;

/* A sum becomes an output, by a multiplier and a shift. */
static inline int16_t mote_fours_s16_out(int32_t sum, const int32_t *q, int32_t lo, int32_t hi) {
    const int32_t shift = q[1] & 31, half = (int32_t)((uint32_t)1 << shift >> 1);
    return mote_clamp_s16(MOTE_PLUS(mote_upper_s16(sum, q[0]), half) >> shift, lo, hi);
}

static inline int16_t mote_fours_s16_to(const mote_fours_s16_t *p, int32_t sum, const int32_t *q) {
    return mote_fours_s16_out(sum, q, p->lo, p->hi);
}

/* The words of a window's inputs, in whole groups; gives the end. */
MOTE_NOINLINE MOTE_HOT int32_t *mote_fours_s16_widen(const mote_fours_s16_t *p, const int16_t *const *from, int32_t pixels,
                                                     int32_t *x) {
    const int32_t line = p->line, last = pixels - 1, rest = -(p->taps * line) & 3;
    for (int32_t k = 0; k < p->taps; k++) {
        const int16_t *a = from[k], *b = a + mote_min(1, last) * p->pixel, *c = a + mote_min(2, last) * p->pixel;
        const int16_t *d = a + last * p->pixel, *const end = a + line;
        if (last == 0) {
            for (; a != end; x++) {
                *x = *a++;
            }
            continue;
        }
        for (; a != end; x += 4) {
            const int32_t a0 = *a++, b0 = *b++, c0 = *c++, d0 = *d++;
            x[0] = a0, x[1] = b0, x[2] = c0, x[3] = d0;
        }
    }
    for (int32_t i = last == 0 ? rest : 4 * rest; i > 0; i--) {
        *x++ = 0;
    }
    return x;
}

/* A block of one pixel. */
MOTE_NOINLINE MOTE_HOT void mote_fours_s16_one(const mote_fours_s16_t *p, const int32_t *x, const int32_t *end,
                                               const int32_t *stream, int16_t *to) {
    for (int32_t c = 0; c < p->channels; c++, stream += 2) {
        int32_t sum = *stream++;
        for (const int32_t *at = x; at != end; at += 4) {
            const int32_t w = *stream++;
            sum = MOTE_PLUS(sum, at[0] * mote_fours_s16_byte(w, 0));
            sum = MOTE_PLUS(sum, at[1] * mote_fours_s16_byte(w, 1));
            sum = MOTE_PLUS(sum, at[2] * mote_fours_s16_byte(w, 2));
            sum = MOTE_PLUS(sum, at[3] * mote_fours_s16_byte(w, 3));
        }
        *to++ = mote_fours_s16_to(p, sum, stream);
    }
}

MOTE_NOINLINE MOTE_HOT void mote_fours_s16_block(const mote_fours_s16_t *p, const mote_block_s16_t *block,
                                                 int32_t pixels) {
    int32_t *const x = (int32_t *)(void *)block->work, *const end = mote_fours_s16_widen(p, block->from, pixels, x);
    const int32_t channels = p->channels, words = (p->taps * p->line + 3) / 4, pitch = words + 3;
    const int32_t *stream = block->stream;
    int16_t *to = block->to;
    int32_t c = 0;
    if (pixels == 1) {
        mote_fours_s16_one(p, x, end, stream, to);
        return;
    }
#ifdef mote_fours_s16_two
    for (; c + 1 < channels; c += 2, stream += 2 * pitch, to += 2) {
        const int32_t v = stream[0], w = stream[pitch];
        int32_t sums[8] = {v, v, v, v, w, w, w, w};
        mote_fours_s16_two(x, end, stream + 1, pitch, sums);
        for (int32_t i = 0; i < pixels; i++) {
            to[i * channels] = mote_fours_s16_to(p, sums[i], stream + words + 1);
            to[i * channels + 1] = mote_fours_s16_to(p, sums[i + 4], stream + pitch + words + 1);
        }
    }
#endif
    for (; c < channels; c++, stream += pitch, to++) {
        int32_t sums[4] = {stream[0], stream[0], stream[0], stream[0]};
        mote_fours_s16(x, end, stream + 1, sums);
        for (int32_t i = 0; i < pixels; i++) {
            to[i * channels] = mote_fours_s16_to(p, sums[i], stream + words + 1);
        }
    }
}

#define MOTE_CONV_FOURS_S16_CODE(id, pixels, taps, line, pixel, channels, lo, hi) \
    MOTE_UNUSED static inline void mote_##id(const mote_block_s16_t *block) { \
        static const mote_fours_s16_t p = {taps, line, pixel, channels, lo, hi}; \
        mote_fours_s16_block(&p, block, pixels); \
    }

#endif
