/* mote_joined_s8.h: the convolutions of mote_swar_s8.h with one byte for each weight.
 *
 * The four weights of a group are bytes of a word W = A + 256 B, each 128 more, of which only B is taken out: with x the
 * word of inputs 0 and 2 of a pixel and y that of inputs 1 and 3, x A + y B = x W + (y - 256 x) B. Inputs are widened as
 * there, then joined behind the window: a group has twelve words, of pixels 0 and 1 both x, both y - 256 x, and what takes
 * 128 off each weight, with the half of 2^16; then those of pixels 2 and 3. Products that are left over are computed with
 * the words of mote_swar_s8.h. The stream has one word for each group; every channel has constants.
 */
#ifndef MOTE_JOINED_S8_H
#define MOTE_JOINED_S8_H

#include "mote_joined.h"
#include "mote_swar_s8.h"

MOTE_NOINLINE MOTE_HOT void mote_joined_inputs(const uint32_t *x, const uint32_t *end, uint32_t *to) {
    for (; x != end; x += 4, to += 6) {
        const uint32_t a = x[0], b = x[1], c = x[2], d = x[3];
        to[0] = a;
        to[1] = b;
        to[2] = c - (a << 8);
        to[3] = d - (b << 8);
        to[4] = 0x8000u - 0x00800080u * (a + c);
        to[5] = 0x8000u - 0x00800080u * (b + d);
        MOTE_MOVED(to);
    }
}

/* All channels of four pixels. */
#define MOTE_JOINED(form) \
    MOTE_UNUSED static inline void mote_swar_joined_##form(const mote_swar_frame_t *f) { \
        const int32_t groups = (int32_t)(f->end - f->inputs) / 8; \
        mote_swar_frame_t own = *f; \
        uint32_t *const to = (uint32_t *)(uintptr_t)f->end + groups; \
        mote_joined_inputs(f->inputs, f->end, to); \
        own.inputs = to; \
        own.end = to + 12 * groups; \
        mote_joined_##form(&own, groups, f->inputs); \
    }

#define MOTE_POINTWISE_JOINED(form) MOTE_POINTWISE_SWAR(joined_##form)
#define MOTE_CONV_JOINED(form) MOTE_CONV_SWAR(joined_##form)

#endif
