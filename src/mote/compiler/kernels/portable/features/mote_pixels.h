/* mote_pixels.h: pixels of a camera's lines as RGB or gray: unpacked, one by one or in pairs, in integers. */
#ifndef MOTE_PIXELS_H
#define MOTE_PIXELS_H

#include "mote_common.h"

/* Luma of ITU-R BT.601, halves up. */
MOTE_ALWAYS_INLINE uint8_t mote_luma(int32_t red, int32_t green, int32_t blue) {
    return (uint8_t)((19595 * red + 38470 * green + 7471 * blue + ((int32_t)1 << 15)) >> 16);
}

/* A pixel of three channels, or of one: its luma. */
MOTE_ALWAYS_INLINE uint8_t *mote_put_pixel(uint8_t *out, int32_t channels, int32_t red, int32_t green, int32_t blue) {
    if (channels == 1) {
        *out++ = mote_luma(red, green, blue);
    } else {
        *out++ = (uint8_t)red;
        *out++ = (uint8_t)green;
        *out++ = (uint8_t)blue;
    }
    return out;
}

typedef struct {
    int32_t channels; /* of the input: red, green, blue, and what does not count */
} mote_gray_image_t;

static inline void mote_gray_image(const mote_gray_image_t *p, const uint8_t *in, uint8_t *out, int32_t n) {
    for (; n > 0; n--, in += p->channels) {
        *out++ = mote_luma(in[0], in[1], in[2]);
    }
}

typedef struct {
    int32_t channels; /* of the output */
} mote_unpack_bgr888_t;

static inline void mote_unpack_bgr888(const mote_unpack_bgr888_t *p, const uint8_t *in, uint8_t *out, int32_t n) {
    for (; n > 0; n--, in += 3) {
        out = mote_put_pixel(out, p->channels, in[2], in[1], in[0]);
    }
}

typedef struct {
    int32_t high; /* which of the two bytes is the high one: 0 or 1 */
} mote_unpack_rgb565_t;

static inline void mote_unpack_rgb565(const mote_unpack_rgb565_t *p, const uint8_t *in, uint8_t *out, int32_t n) {
    const uint8_t *high = in + p->high, *low = in + 1 - p->high;
    for (; n > 0; n--, high += 2, low += 2) {
        const uint32_t word = (uint32_t)*high << 8 | *low;
        *out++ = (uint8_t)((word >> 8 & 0xf8) | word >> 13);
        *out++ = (uint8_t)((word >> 3 & 0xfc) | (word >> 9 & 3));
        *out++ = (uint8_t)((word << 3 & 0xf8) | (word >> 2 & 7));
    }
}

typedef struct {
    int32_t high;
    const int32_t *luma; /* of 2^16: what each high byte adds to it, and each low one, with the half that rounds */
} mote_gray_rgb565_t;

static inline void mote_gray_rgb565(const mote_gray_rgb565_t *p, const uint8_t *in, uint8_t *out, int32_t n) {
    const uint8_t *high = in + p->high, *low = in + 1 - p->high;
    const int32_t *const of_high = p->luma, *const of_low = p->luma + 256;
    for (; n > 0; n--, high += 2, low += 2) {
        *out++ = (uint8_t)((of_high[*high] + of_low[*low]) >> 16);
    }
}

typedef struct {
    int32_t channels;
    int32_t luma; /* where the luma of the first of two pixels lies: 0 or 1 */
    int32_t black, scale, red_v, green_u, green_v, blue_u;
} mote_unpack_yuv422_t;

MOTE_ALWAYS_INLINE uint8_t mote_of_chroma(int32_t x) {
    const int32_t y = x >> 14;
    return (uint8_t)(y < 0 ? 0 : y > 255 ? 255 : y);
}

static inline void mote_unpack_yuv422(const mote_unpack_yuv422_t *p, const uint8_t *in, uint8_t *out, int32_t n) {
    for (; n > 0; n--, in += 4) {
        const int32_t u = in[1 - p->luma] - (int32_t)128, v = in[3 - p->luma] - (int32_t)128;
        const int32_t red = p->red_v * v, green = p->green_u * u + p->green_v * v, blue = p->blue_u * u;
        for (int32_t k = 0; k < 4; k += 2) {
            const int32_t luma = (in[p->luma + k] - p->black) * p->scale + ((int32_t)1 << 13);
            if (p->channels == 1) {
                *out++ = mote_of_chroma(luma);
            } else {
                *out++ = mote_of_chroma(luma + red);
                *out++ = mote_of_chroma(luma - green);
                *out++ = mote_of_chroma(luma + blue);
            }
        }
    }
}

#endif
