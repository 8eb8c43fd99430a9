/* mote_blockwise.h: block-wise quantized constants: rows of integers with a scale for each block of `size` elements.
 *
 * Integers are a byte each, or where all are from -8 to 7 half a byte each, the first of two in the lower half; a block
 * begins with a new byte.
 */
#ifndef MOTE_BLOCKWISE_H
#define MOTE_BLOCKWISE_H

#include "mote_dot_hybrid.h"
#include "mote_index.h"

/* Both halves of a byte. */
static inline float mote_low_nibble(uint8_t x) { return (float)((int32_t)((x & 15u) ^ 8u) - 8); }
static inline float mote_high_nibble(uint8_t x) { return (float)((int32_t)(((uint32_t)x >> 4) ^ 8u) - 8); }

/* The products of a block with a vector, added up. */
typedef float mote_block_dot_t(const float *x, const void *codes, int32_t n);

static inline float mote_block_dot(const float *x, const void *codes, int32_t n) {
    return mote_dot_hybrid(x, (const int8_t *)codes, n);
}

static inline float mote_block_dot4(const float *x, const void *codes, int32_t n) {
    const uint8_t *w = (const uint8_t *)codes;
    float a = 0.0f, b = 0.0f;
    for (; n >= 2; n -= 2, x += 2, w++) {
        a += x[0] * mote_low_nibble(*w);
        b += x[1] * mote_high_nibble(*w);
    }
    return n > 0 ? a + x[0] * mote_low_nibble(*w) + b : a + b;
}

typedef struct {
    int32_t depth, channels;
    int32_t size; /* divides the depth */
    float low, high;
    const void *weights; /* [channels][depth / size] blocks */
    const float *scale;  /* of each block */
    const float *bias;
} mote_fully_connected_blockwise_t;
typedef mote_fully_connected_blockwise_t mote_fully_connected_blockwise4_t;

/* `bytes`: of a block. */
MOTE_ALWAYS_INLINE void mote_blocks_times(const mote_fully_connected_blockwise_t *p, const float *in, float *out,
                                          int32_t vectors, mote_block_dot_t *dot, int32_t bytes) {
    for (; vectors > 0; vectors--, in += p->depth) {
        const int8_t *w = (const int8_t *)p->weights;
        const float *scale = p->scale;
        for (int32_t c = 0; c < p->channels; c++) {
            float sum = 0.0f;
            for (int32_t k = 0; k < p->depth; k += p->size, w += bytes) {
                sum += *scale++ * dot(in + k, w, p->size);
            }
            *out++ = mote_clamp_f32(p->bias[c] + sum, p->low, p->high);
        }
    }
}

static inline void mote_fully_connected_blockwise(const mote_fully_connected_blockwise_t *p, const float *in,
                                                  float *out, int32_t vectors) {
    mote_blocks_times(p, in, out, vectors, mote_block_dot, p->size);
}

static inline void mote_fully_connected_blockwise4(const mote_fully_connected_blockwise4_t *p, const float *in,
                                                   float *out, int32_t vectors) {
    mote_blocks_times(p, in, out, vectors, mote_block_dot4, (p->size + 1) / 2);
}

/* `count` rows of a table as float32; those outside of it are zeros. */
typedef struct {
    int32_t rows, count, blocks, size;
    const void *table;  /* [rows][blocks] blocks */
    const float *scale; /* of each block */
} mote_lookup_blockwise_t;
typedef mote_lookup_blockwise_t mote_lookup_blockwise4_t;

typedef void mote_block_numbers_t(const void *codes, float scale, float *out, int32_t n);

static inline void mote_block_numbers(const void *codes, float scale, float *out, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        out[i] = (float)((const int8_t *)codes)[i] * scale;
    }
}

static inline void mote_block_numbers4(const void *codes, float scale, float *out, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        const uint8_t two = ((const uint8_t *)codes)[i / 2];
        out[i] = (i % 2 == 0 ? mote_low_nibble(two) : mote_high_nibble(two)) * scale;
    }
}

MOTE_ALWAYS_INLINE void mote_blocks_rows(const mote_lookup_blockwise_t *p, const void *indices, float *out,
                                         mote_block_numbers_t *numbers, int32_t bytes) {
    for (int32_t i = 0; i < p->count; i++) {
        const int32_t index = mote_index(indices, 4, i);
        const int32_t inside = index >= 0 && index < p->rows ? index : 0;
        for (int32_t b = 0; b < p->blocks; b++, out += p->size) {
            const int32_t block = inside * p->blocks + b;
            numbers((const int8_t *)p->table + block * bytes, inside == index ? p->scale[block] : 0.0f, out, p->size);
        }
    }
}

static inline void mote_lookup_blockwise(const mote_lookup_blockwise_t *p, const void *indices, float *out) {
    mote_blocks_rows(p, indices, out, mote_block_numbers, p->size);
}

static inline void mote_lookup_blockwise4(const mote_lookup_blockwise4_t *p, const void *indices, float *out) {
    mote_blocks_rows(p, indices, out, mote_block_numbers4, (p->size + 1) / 2);
}

#endif
