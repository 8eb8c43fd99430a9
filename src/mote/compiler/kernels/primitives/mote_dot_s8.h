/* mote_dot_s8.h: int8 dot products of one or two vectors with several channels at a time, the heart of convolutions.
 *
 * Weights are interleaved by the compiler: four of channel 0, four of channel 1, and so on; the depth is padded to a
 * multiple of four with zero weights (the inputs are not read there). mote_dot_1x2x2, two pairs of channels at a time, has
 * no portable form. */
#ifndef MOTE_DOT_S8_H
#define MOTE_DOT_S8_H

#include "mote_common.h"

/* Four products: input i of two pixels and two channels. */
#define MOTE_MAC_2X2(i) \
    do { \
        const int32_t x_ = x0[i], y_ = x1[i], v_ = w[i], u_ = w[(i) + 4]; \
        a0 = MOTE_PLUS(a0, x_ * v_); \
        b0 = MOTE_PLUS(b0, y_ * v_); \
        a1 = MOTE_PLUS(a1, x_ * u_); \
        b1 = MOTE_PLUS(b1, y_ * u_); \
    } while (0)

/* Four products: input i of four outputs. */
#define MOTE_MAC_1X4(i) \
    (a = MOTE_PLUS(a, x[i] * w[i]), b = MOTE_PLUS(b, x[i] * w[(i) + 4]), \
     c = MOTE_PLUS(c, x[i] * w[(i) + 8]), d = MOTE_PLUS(d, x[i] * w[(i) + 12]))

#include "mote_dot_s8_dsp.h"

/* Two pixels, two channels: sum[0..1] for pixel x0, sum[2..3] for pixel x1. */
#ifndef mote_dot_2x2
static inline void mote_dot_2x2(const int8_t *x0, const int8_t *x1, const int8_t *w, int32_t depth, int32_t *sum) {
    int32_t a0 = sum[0], a1 = sum[1], b0 = sum[2], b1 = sum[3];
    int32_t k = depth;
    for (; k >= 4; k -= 4, x0 += 4, x1 += 4, w += 8) {
        MOTE_MAC_2X2(0);
        MOTE_MAC_2X2(1);
        MOTE_MAC_2X2(2);
        MOTE_MAC_2X2(3);
    }
    for (int32_t i = 0; i < k; i++) {
        MOTE_MAC_2X2(i);
    }
    sum[0] = a0, sum[1] = a1, sum[2] = b0, sum[3] = b1;
}
#endif

/* One pixel, two channels. */
#ifndef mote_dot_1x2
static inline void mote_dot_1x2(const int8_t *x0, const int8_t *w, int32_t depth, int32_t *sum) {
    int32_t a0 = sum[0], a1 = sum[1];
    int32_t k = depth;
    for (; k >= 4; k -= 4, x0 += 4, w += 8) {
        for (int32_t i = 0; i < 4; i++) {
            a0 = MOTE_PLUS(a0, x0[i] * w[i]);
            a1 = MOTE_PLUS(a1, x0[i] * w[i + 4]);
        }
    }
    for (int32_t i = 0; i < k; i++) {
        a0 = MOTE_PLUS(a0, x0[i] * w[i]);
        a1 = MOTE_PLUS(a1, x0[i] * w[i + 4]);
    }
    sum[0] = a0, sum[1] = a1;
}
#endif

/* One vector, four channels, whose weights are interleaved so. */
#ifndef mote_dot_1x4
static inline void mote_dot_1x4(const int8_t *x, const int8_t *w, int32_t depth, int32_t *sum) {
    int32_t a = sum[0], b = sum[1], c = sum[2], d = sum[3];
    int32_t k = depth;
    for (; k >= 4; k -= 4, x += 4, w += 16) {
        MOTE_MAC_1X4(0);
        MOTE_MAC_1X4(1);
        MOTE_MAC_1X4(2);
        MOTE_MAC_1X4(3);
    }
    for (int32_t i = 0; i < k; i++) {
        MOTE_MAC_1X4(i);
    }
    sum[0] = a, sum[1] = b, sum[2] = c, sum[3] = d;
}
#endif

/* One vector, one channel, whose weights lie one after another. */
#ifndef mote_dot_1x1
static inline int32_t mote_dot_1x1(const int8_t *x, const int8_t *w, int32_t depth, int32_t sum) {
    int32_t k = depth;
    for (int32_t i = 0; i < k; i++) {
        sum = MOTE_PLUS(sum, x[i] * w[i]);
    }
    return sum;
}
#endif

/* A vector less its zero point, one channel. */
#ifndef mote_dot_less_zero
static inline int32_t mote_dot_less_zero(const int8_t *x, const int8_t *w, int32_t n, int32_t zero, int32_t sum) {
    for (; n > 0; n--) {
        sum = MOTE_PLUS(sum, (*x++ - zero) * *w++);
    }
    return sum;
}
#endif

#endif
