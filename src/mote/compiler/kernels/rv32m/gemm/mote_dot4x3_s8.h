/* mote_dot4x3_s8.h: the convolutions of mote_swar_s8.h in blocks of three channels, and at most two of two at the end, for
 * RISC-V: a pixel's words are loaded once for a block.
 *
 * The stream has for each block: where its sums begin; for each group of inputs two words of weights of each channel;
 * then for each channel the number of products that are left over, these, and the constants of requantization.
 */
#ifndef MOTE_DOT4X3_S8_H
#define MOTE_DOT4X3_S8_H

#include "mote_swar_s8.h"

/* mote_dot4x3_ID: `blocks` of `lanes` channels, whose first outputs are at place c; gives what is behind them in the
 * stream. `text` is assembly that was made for them. */
#if defined(__riscv) && __riscv_xlen == 32 && defined(__riscv_mul) && !defined(__riscv_32e) && defined(__GNUC__) && \
    !defined(MOTE_PORTABLE)
#define MOTE_DOT4X3_CODE(form, lanes, id, text) \
    __attribute__((naked, noinline, unused)) static const int32_t *mote_dot4x3_##id( \
        const mote_swar_frame_t *f __attribute__((unused)), const int32_t *stream __attribute__((unused)), \
        int32_t blocks __attribute__((unused)), int32_t c __attribute__((unused))) { \
        __asm__ volatile(text); \
    }
#else
#define MOTE_DOT4X3_CODE(form, lanes, id, text) \
    MOTE_NOINLINE const int32_t *mote_dot4x3_##id(const mote_swar_frame_t *f, const int32_t *stream, int32_t blocks, \
                                                  int32_t c) { \
        static const uint8_t slot[4] = {0, 1, 4, 5}; \
        const int32_t groups = (int32_t)(f->end - f->inputs) / 8; \
        for (; blocks > 0; blocks--, c += (lanes)) { \
            const int32_t *left = stream + (lanes) * (1 + 2 * groups); \
            for (int32_t k = 0; k < (lanes); k++) { \
                int32_t sum[4]; \
                for (int32_t i = 0; i < 4; i++) { \
                    const uint32_t *x = f->inputs + slot[i]; \
                    const int32_t *w = stream + (lanes) + 2 * k; \
                    sum[i] = stream[k]; \
                    for (int32_t n = 0; n < groups; n++, x += 8, w += 2 * (lanes)) { \
                        const uint32_t products = x[0] * (uint32_t)w[0] + x[2] * (uint32_t)w[1]; \
                        sum[i] = mote_wrapping_add(sum[i], mote_swar_upper(products)); \
                    } \
                } \
                for (int32_t n = *left++; n > 0; n--, left += 2) { \
                    for (int32_t i = 0; i < 4; i++) { \
                        const uint32_t x = f->inputs[left[0] / 4 + slot[i]]; \
                        sum[i] = mote_wrapping_add(sum[i], mote_swar_upper(x * (uint32_t)left[1])); \
                    } \
                } \
                for (int32_t i = 0; i < 4; i++) { \
                    f->to[i][c + k] = mote_swar_to_##form(sum[i], left); \
                } \
                left += MOTE_SWAR_##form; \
            } \
            stream = left; \
        } \
        return stream; \
    }
#endif

/* All channels of four pixels: blocks of three, by the function `three`, then those of two. */
#define MOTE_DOT4X3(id, three, two) \
    MOTE_UNUSED static inline void mote_swar_##id(const mote_swar_frame_t *f) { \
        const int32_t *stream = f->stream; \
        const int32_t twos = (3 - f->channels % 3) % 3, threes = (f->channels - 2 * twos) / 3; \
        if (threes > 0) { \
            stream = mote_dot4x3_##three(f, stream, threes, -f->channels); \
        } \
        if (twos > 0) { \
            mote_dot4x3_##two(f, stream, twos, -2 * twos); \
        } \
    }

#endif
