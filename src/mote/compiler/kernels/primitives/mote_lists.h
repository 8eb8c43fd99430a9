/* mote_lists.h: sums of inputs that lists name, for mote_lists_s8.h, which says how inputs and lists lie. */
#ifndef MOTE_LISTS_H
#define MOTE_LISTS_H

#include "mote_swar.h"

#include "mote_lists_armv6m.h"

/* How many bytes are left out before input i of a list, whose bytes begin at `gaps`, the first one in the lowest bits. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define MOTE_LISTS_GAP(gaps, i) ((const uint8_t *)(gaps))[i]
#else
#define MOTE_LISTS_GAP(gaps, i) ((uint32_t)(gaps)[(i) / 4] >> 8 * ((i) % 4) & 0xffu)
#endif

/* The lists of a channel: adds the sum of each, times its weight, to the sums of four pixels. Gives what is behind them. */
#ifndef mote_lists_sums
#define MOTE_LISTS_NEXT(k) \
    x += MOTE_LISTS_GAP(stream, i + (k)) / 4; \
    a += x[2 * (k)]; \
    b += x[2 * (k) + 1];

MOTE_NOINLINE MOTE_HOT const int32_t *mote_lists_sums(const uint32_t *inputs, const int32_t *stream, int32_t *sum) {
    for (int32_t weight = *stream++; weight != 0; weight = *stream++) {
        const uint32_t place = (uint32_t)*stream++;
        const int32_t count = (int32_t)(place >> 16);
        const uint32_t *x = inputs + (place & 0xffffu) / 4;
        uint32_t a = 0, b = 0;
        int32_t i = 0;
        for (; i < count % 4; i++, x += 2) {
            MOTE_LISTS_NEXT(0)
        }
        for (; i < count; i += 4, x += 8) {
            MOTE_LISTS_NEXT(0)
            MOTE_LISTS_NEXT(1)
            MOTE_LISTS_NEXT(2)
            MOTE_LISTS_NEXT(3)
        }
        sum[0] = mote_wrapping_add(sum[0], weight * (int32_t)(a & 0xffffu));
        sum[1] = mote_wrapping_add(sum[1], weight * (int32_t)(a >> 16));
        sum[2] = mote_wrapping_add(sum[2], weight * (int32_t)(b & 0xffffu));
        sum[3] = mote_wrapping_add(sum[3], weight * (int32_t)(b >> 16));
        stream += (count + 3) / 4;
    }
    return stream;
}
#endif

#endif
