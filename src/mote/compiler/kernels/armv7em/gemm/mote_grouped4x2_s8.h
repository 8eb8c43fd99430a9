/* mote_grouped4x2_s8.h: int8 convolutions of groups of channels, four pixels and two channels at a time, for cores with
 * DSP instructions.
 *
 * For each block of four pixels of a row, the inputs of one group after another are widened, and multiplied by the code
 * of mote_gemm4x2_s8.h that layers share. Weights and constants are those of mote_gemm3_s8.h, one group behind another.
 * The input channels of a group are a multiple of four, its output channels of two. Rows have
 * four pixels at least; the last block of a row may overlap the one before. Scratch: the widened inputs of a group; the
 * columns under a block that reaches over the edge of the image.
 */
#ifndef MOTE_GROUPED4X2_S8_H
#define MOTE_GROUPED4X2_S8_H

#include "mote_gemm4x2_s8.h"

typedef struct {
    mote_patch_t patch;
    mote_gemm3_t gemm;      /* of one group; `pixel` has the channels of all */
    int32_t groups, inputs; /* groups; input channels of each */
    int32_t words;          /* of the stream, from one group to the next */
} mote_grouped4x2_t;

typedef void mote_grouped4x2_products_t(const mote_gemm4x2_frame_t *frame, const mote_gemm3_t *gemm);

#if MOTE_DSP
/* Widens `words` words of each of some columns, `step` bytes apart, of four pixels that are `stride` bytes apart: 15
 * instructions for 16 inputs. Gives where the next ones go. */
__attribute__((naked, noinline, unused)) static uint32_t *mote_grouped4x2_widen(
    const int8_t *from __attribute__((unused)), int32_t stride __attribute__((unused)),
    int32_t words __attribute__((unused)), uint32_t *to __attribute__((unused)),
    int32_t columns __attribute__((unused)), int32_t step __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "add r12, r1, r1, lsl #1\n"
                     "1:\n\t"
                     "add lr, r0, r2, lsl #2\n"
                     "2:\n\t"
                     "ldr r5, [r0, r1]\n\t"
                     "ldr r6, [r0, r1, lsl #1]\n\t"
                     "ldr r7, [r0, r12]\n\t"
                     "ldr r4, [r0], #4\n\t"
                     "sxtb16 r8, r4, ror #8\n\t"
                     "sxtb16 r9, r5, ror #8\n\t"
                     "sxtb16 r10, r6, ror #8\n\t"
                     "sxtb16 r11, r7, ror #8\n\t"
                     "sxtb16 r4, r4\n\t"
                     "sxtb16 r5, r5\n\t"
                     "sxtb16 r6, r6\n\t"
                     "sxtb16 r7, r7\n\t"
                     "stm r3!, {r4-r11}\n\t"
                     "cmp r0, lr\n\t"
                     "bne 2b\n\t"
                     "ldrd r4, r5, [sp, #36]\n\t"
                     "sub r0, r0, r2, lsl #2\n\t"
                     "add r0, r0, r5\n\t"
                     "subs r4, r4, #1\n\t"
                     "str r4, [sp, #36]\n\t"
                     "bne 1b\n\t"
                     "mov r0, r3\n\t"
                     "pop {r4-r11, pc}\n\t");
}
#else
static inline uint32_t *mote_grouped4x2_widen(const int8_t *from, int32_t stride, int32_t words, uint32_t *to,
                                              int32_t columns, int32_t step) {
    for (int32_t t = 0; t < columns; t++) {
        for (int32_t j = 0; j < 4 * words; j += 4, to += 8) {
            for (int32_t i = 0; i < 4; i++) {
                const int8_t *const x = from + t * step + i * stride + j;
                to[i] = (uint32_t)(uint16_t)x[0] | (uint32_t)(uint16_t)x[2] << 16;
                to[i + 4] = (uint32_t)(uint16_t)x[1] | (uint32_t)(uint16_t)x[3] << 16;
            }
        }
    }
    return to;
}
#endif

/* Input columns under the windows of a block. */
static inline int32_t mote_grouped4x2_columns(const mote_span_t *s) {
    return 3 * s->step + (s->taps - 1) * s->spread + 1;
}

/* One output row. */
MOTE_ALWAYS_INLINE void mote_grouped4x2_row(const mote_grouped4x2_t *p, const int8_t *const *rows, int8_t *out,
                                            mote_grouped4x2_products_t *products, uint32_t *scratch) {
    const mote_patch_t *const patch = &p->patch;
    const mote_span_t *const s = &patch->cols;
    const int32_t width = s->out_size, channels = patch->in_channels, columns = mote_grouped4x2_columns(s);
    const int32_t pitch = columns * channels;
    const int32_t missing = mote_conv4x2_missing(rows, patch->rows.taps);
    int8_t *const copy = (int8_t *)scratch + 8 * p->gemm.depth;
    mote_gemm4x2_frame_t frame;
    mote_gemm4x2_frame(&p->gemm, scratch, &frame);
    frame.blocks = 1;
    frame.stride = 0;
    for (int32_t next = 0; next < width; next += 4) {
        const int32_t x = mote_min(next, width - 4), first = x * s->step - s->pad;
        const int32_t inside = !missing && first >= 0 && first + columns <= s->in_size;
        if (!inside) {
            mote_conv4x2_copy(patch, rows, x, pitch, pitch, copy);
        }
        for (int32_t i = 0; i < 4; i++) {
            frame.to[i] = out + (x + i) * p->gemm.pixel;
        }
        frame.stream = p->gemm.stream;
        for (int32_t g = 0; g < p->groups; g++, frame.stream += p->words) {
            uint32_t *to = scratch;
            for (int32_t k = 0; k < patch->rows.taps; k++) {
                const int8_t *const from = inside ? rows[k] + first * channels : copy + k * pitch;
                to = mote_grouped4x2_widen(from + g * p->inputs, s->step * channels, p->inputs / 4, to, s->taps,
                                           s->spread * channels);
            }
            products(&frame, &p->gemm);
            for (int32_t i = 0; i < 4; i++) {
                frame.to[i] += p->gemm.channels;
            }
        }
    }
}

#define MOTE_GROUPED4X2(id, code) \
    typedef mote_grouped4x2_t mote_grouped4x2_##id##_t; \
    MOTE_UNUSED static inline void mote_grouped4x2_##id##_products(const mote_gemm4x2_frame_t *frame, \
                                                                   const mote_gemm3_t *gemm) { \
        mote_gemm4x2_##code(frame, gemm, MOTE_GEMM4X2_WIDENED); \
    } \
    MOTE_NOINLINE void mote_grouped4x2_##id##_row(const mote_grouped4x2_t *p, const int8_t *const *rows, int8_t *out, \
                                                  uint32_t *scratch) { \
        mote_grouped4x2_row(p, rows, out, mote_grouped4x2_##id##_products, scratch); \
    } \
    MOTE_UNUSED static inline void mote_grouped4x2_##id(const mote_grouped4x2_t *p, const int8_t *in, int8_t *out, \
                                                        int32_t lo, int32_t hi, uint32_t *scratch) { \
        const int8_t *rows[MOTE_MAX_TAPS]; \
        for (int32_t y = lo; y < hi; y++) { \
            mote_window_s8(&p->patch.rows, in, y, rows); \
            mote_grouped4x2_##id##_row(p, rows, out + y * p->patch.rows.out_stride, scratch); \
        } \
    }

#endif
