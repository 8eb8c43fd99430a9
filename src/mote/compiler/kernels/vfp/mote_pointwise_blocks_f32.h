/* mote_pointwise_blocks_f32.h: float32 windows of one pixel, and fully connected layers, which are the same with vectors
 * for pixels: four of them by four channels at once. */
#ifndef MOTE_POINTWISE_BLOCKS_F32_H
#define MOTE_POINTWISE_BLOCKS_F32_H

#include "mote_block_f32.h"
#include "mote_dot_f32.h"

#define MOTE_POINTWISE_BLOCKS(kind, weight_t) \
    typedef struct { \
        int32_t depth, channels; \
        float low, high; \
        const weight_t *weights; /* [four channels][depth][4], then [channel][depth] of those left */ \
        const float *bias; \
    } mote_pointwise_blocks_##kind##_t; \
\
    MOTE_NOINLINE void mote_pointwise_blocks_##kind(const mote_pointwise_blocks_##kind##_t *p, const float *in, \
                                                    float *out, int32_t pixels) { \
        const int32_t depth = p->depth, channels = p->channels, blocks = channels - channels % MOTE_BLOCK; \
        while (pixels > 0) { \
            const int32_t count = pixels < MOTE_BLOCK ? 1 : MOTE_BLOCK; \
            const weight_t *w = p->weights; \
            float sums[MOTE_BLOCK * MOTE_BLOCK] = {0.0f}; \
            for (int32_t o = 0; o < blocks; o += MOTE_BLOCK, w += depth * MOTE_BLOCK) { \
                if (count == MOTE_BLOCK) { \
                    mote_block4_##kind(in, depth, w, depth, sums); \
                } else { \
                    mote_block1_##kind(in, w, depth, sums); \
                } \
                mote_block_finish(sums, p->bias + o, p->low, p->high, out + o, channels, count); \
            } \
            for (int32_t o = blocks; o < channels; o++, w += depth) { \
                for (int32_t j = 0; j < count; j++) { \
                    const float sum = mote_dot_##kind(0.0f, in + j * depth, w, depth); \
                    out[j * channels + o] = mote_clamp_f32(sum + p->bias[o], p->low, p->high); \
                } \
            } \
            pixels -= count; \
            in += count * depth; \
            out += count * channels; \
        } \
    }

MOTE_POINTWISE_BLOCKS(f32, float)

#endif
