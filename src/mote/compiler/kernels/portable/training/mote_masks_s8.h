/* mote_masks_s8.h: what gradients need of activations and of maxima, in fewer bits than these; and gradients through it. */
#ifndef MOTE_MASKS_S8_H
#define MOTE_MASKS_S8_H

#include "mote_bits_s8.h"
#include "mote_gradient_axis.h"

typedef struct {
    int32_t channels;
    int32_t low, high; /* bits are 1 between them */
} mote_activation_mask_s8_t;

typedef struct {
    int32_t channels;
} mote_masked_gradient_s8_t;

typedef struct {
    mote_gradient_axis_t rows, cols;
    int32_t channels;
} mote_max_pool_taps_t;
typedef mote_max_pool_taps_t mote_max_pool_taps_s8_t, mote_max_pool_spread_s8_t;

/* The whole bytes of bits of n pixels: those of a pixel, or of all where no other bits are between them. */
static inline int32_t mote_mask_bytes(int32_t channels, int32_t *n) {
    const int32_t bytes = channels % 8 == 0 ? channels / 8 * *n : channels / 8;
    *n = channels % 8 == 0 ? *n > 0 : *n;
    return bytes;
}

/* A bit for each element of n pixels, eight channels a byte. */
static inline void mote_activation_mask_s8(const mote_activation_mask_s8_t *p, const int8_t *in, uint8_t *out, int32_t n) {
    const int32_t rest = p->channels % 8, bytes = mote_mask_bytes(p->channels, &n);
    for (; n > 0; n--) {
        mote_bits_between(in, out, bytes, p->low, p->high);
        in += 8 * bytes;
        out += bytes;
        if (rest > 0) {
            uint32_t bits = 0;
            for (int32_t c = 0; c < rest; c++, in++) {
                bits |= (uint32_t)(*in > p->low && *in < p->high) << c;
            }
            *out++ = (uint8_t)bits;
        }
    }
}

static inline void mote_masked_gradient_s8(const mote_masked_gradient_s8_t *p, const int8_t *in, const uint8_t *mask,
                                           int8_t *out, int32_t n) {
    const int32_t rest = p->channels % 8, bytes = mote_mask_bytes(p->channels, &n);
    for (; n > 0; n--) {
        mote_bits_keep(in, mask, out, bytes);
        in += 8 * bytes;
        out += 8 * bytes;
        mask += bytes;
        if (rest > 0) {
            for (int32_t c = 0; c < rest; c++) {
                *out++ = (int8_t)(*mask >> c & 1 ? *in : 0);
                in++;
            }
            mask++;
        }
    }
}

/* The tap of each window that has the largest pixel, the first of several; 255 where it has no pixel. */
static inline void mote_max_pool_taps_s8(const mote_max_pool_taps_t *p, const int8_t *in, uint8_t *out) {
    const int32_t height = p->rows.out, width = p->cols.out, channels = p->channels;
    for (int32_t y = 0; y < height; y++) {
        for (int32_t x = 0; x < width; x++) {
            uint8_t *const pixel = out + (y * width + x) * channels;
            for (int32_t c = 0; c < channels; c++) {
                int32_t most = -129, taken = 255, number = 0;
                for (int32_t ky = 0; ky < p->rows.taps; ky++) {
                    const int32_t row = mote_gradient_input(&p->rows, y, ky);
                    for (int32_t kx = 0; kx < p->cols.taps; kx++, number++) {
                        const int32_t column = mote_gradient_input(&p->cols, x, kx);
                        if (row >= 0 && column >= 0) {
                            const int32_t value = in[(row * p->cols.in + column) * p->channels + c];
                            taken = value > most ? number : taken;
                            most = value > most ? value : most;
                        }
                    }
                }
                pixel[c] = (uint8_t)taken;
            }
        }
    }
}

/* Each gradient to the pixel that its maximum is. */
static inline void mote_max_pool_spread_s8(const mote_max_pool_taps_t *p, const int8_t *in, const uint8_t *taps,
                                           int8_t *out) {
    const int32_t height = p->rows.in, width = p->cols.in, channels = p->channels;
    for (int32_t y = 0; y < height; y++) {
        for (int32_t x = 0; x < width; x++) {
            int8_t *const pixel = out + (y * width + x) * channels;
            for (int32_t c = 0; c < channels; c++) {
                int32_t sum = 0, number = 0;
                for (int32_t ky = 0; ky < p->rows.taps; ky++) {
                    const int32_t row = mote_gradient_output(&p->rows, y, ky);
                    for (int32_t kx = 0; kx < p->cols.taps; kx++, number++) {
                        const int32_t column = mote_gradient_output(&p->cols, x, kx);
                        if (row >= 0 && column >= 0) {
                            const int32_t at = (row * p->cols.out + column) * p->channels + c;
                            sum += taps[at] == number ? in[at] : 0;
                        }
                    }
                }
                pixel[c] = mote_saturate_s8(sum);
            }
        }
    }
}

#endif
