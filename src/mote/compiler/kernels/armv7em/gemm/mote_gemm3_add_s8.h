/* mote_gemm3_add_s8.h: the convolutions of mote_gemm3_s8.h and the addition or subtraction behind them, at once.
 *
 * What is added lies where the outputs go, so that one pointer finds both: a result y of the convolution, a byte in a
 * register, becomes
 *
 *   clamp((c + a * y + b * out) >> 21)
 *
 * at `out`, with constants that give what LiteRT gives for all 65,536 pairs (see mote_add_s8.h). They come before all of
 * the stream. Outputs have an even number of channels. Four instructions a byte more than without the addition.
 */
#ifndef MOTE_GEMM3_ADD_S8_H
#define MOTE_GEMM3_ADD_S8_H

#include "mote_gemm3_s8.h"

#define MOTE_GEMM3_ADD_SHIFT 21

#if MOTE_DSP
/* For the six results: one operation, or the byte of memory that each of them goes to. */
#define MOTE_GEMM3_ADD_SIX(one) one("r0") one("r1") one("r2") one("r4") one("r5") one("r6")
#define MOTE_GEMM3_ADD_EACH(one) \
    one("r0", "[r3]") one("r1", "[r7]") one("r2", "[r12]") \
    one("r4", "[r3, #1]") one("r5", "[r7, #1]") one("r6", "[r12, #1]")
#define MOTE_GEMM3_ADD_RESULT(y) "mla " y ", " y ", r10, r11\n\t"
#define MOTE_GEMM3_ADD_OTHER(y, at) \
    "ldrsb r11, " at "\n\t" \
    "mla " y ", r11, r10, " y "\n\t"
#define MOTE_GEMM3_ADD_CLAMP(y) "ssat " y ", #8, " y ", asr #" MOTE_ASM_STRING(MOTE_GEMM3_ADD_SHIFT) "\n\t"

/* In place of MOTE_GEMM3_STORE_nhwc. All is loaded before anything is stored: a pixel may be there more than once. */
#define MOTE_GEMM3_ADD_STORE \
    "ldm r8, {r3, r7, r12}\n\t" \
    "ldrd r10, r11, [sp, #8]\n\t" MOTE_GEMM3_ADD_SIX(MOTE_GEMM3_ADD_RESULT) \
    "ldr r10, [sp, #16]\n\t" MOTE_GEMM3_ADD_EACH(MOTE_GEMM3_ADD_OTHER) MOTE_GEMM3_ADD_SIX(MOTE_GEMM3_ADD_CLAMP) \
        MOTE_GEMM3_STORE_nhwc

/* MOTE_GEMM3_BLOCK with a, c and b, which come first in the stream, on the stack. */
#define MOTE_GEMM3_ADD_FIRST \
    "ldm r1!, {r4-r6}\n\t" \
    "push {r4-r6}\n\t"
#define MOTE_GEMM3_ADD_BLOCK(name, weights, scale, s) \
    MOTE_GEMM3_BLOCK(name, weights, all, scale, "ssat", s, MOTE_GEMM3_ADD_FIRST, MOTE_GEMM3_ADD_STORE, "20")
#define MOTE_GEMM3_ADD_ASM_nhwc(name, weights, s) MOTE_GEMM3_ADD_BLOCK(name, weights, relu, MOTE_ASM_STRING(s))
#define MOTE_GEMM3_ADD_ASM_linear(name, weights, s) MOTE_GEMM3_ADD_BLOCK(name, weights, linear, MOTE_ASM_STRING(s))
#define MOTE_GEMM3_ADD_FUNCTION(name, weights, out, s) MOTE_GEMM3_ADD_ASM_##out(name, weights, s)
#else
/* What the assembly does: two channels of three pixels after another, and what is there already added to them. */
static inline const int32_t *mote_gemm3_add_c(const uint32_t *inputs, const int32_t *stream, mote_gemm3_tail_t *tail,
                                              int32_t depth, int32_t weights, int32_t out, int32_t s) {
    const int32_t a = stream[0], c = stream[1], b = stream[2];
    stream += 3;
    do {
        int8_t y[6];
        int32_t sum[6];
        mote_gemm3_tail_t two = {{y, y + 2, y + 4}, 0, 1, 2, NULL};
        stream = mote_gemm3_c(inputs, stream, &two, depth, weights, 0, out, s);
        for (int32_t i = 0; i < 6; i++) {
            sum[i] = c + a * y[i] + b * tail->to[i / 2][i % 2];
        }
        for (int32_t i = 0; i < 6; i++) {
            tail->to[i / 2][i % 2] = mote_clamp(sum[i] >> MOTE_GEMM3_ADD_SHIFT, -128, 127);
        }
        for (int32_t i = 0; i < 3; i++) {
            tail->to[i] += 2;
        }
        tail->offset += 2;
    } while (tail->offset != tail->limit);
    return stream;
}

#define MOTE_GEMM3_ADD_FUNCTION(name, weights, out, s) \
    MOTE_UNUSED static inline const int32_t *name(const uint32_t *inputs, const int32_t *stream, \
                                                  mote_gemm3_tail_t *tail, int32_t depth) { \
        return mote_gemm3_add_c(inputs, stream, tail, depth, mote_gemm3_##weights, mote_gemm3_##out, s); \
    }
#endif

/* What is added, to where the outputs go, unless it lies there already. */
static inline void mote_gemm3_add_to(int8_t *out, const int8_t *other, int32_t bytes) {
    if (out != other) {
        memcpy(out, other, (size_t)bytes);
    }
}

/* The functions for one form of weights, one form of the convolution's results, and a shift. Row functions find what is
 * added behind the rows of the window. */
#define MOTE_GEMM3_ADD(weights, out, s) MOTE_GEMM3_ADD_(weights, out, weights##_##out##_##s, s)
#define MOTE_GEMM3_ADD_(weights, out_, id, s) \
    MOTE_GEMM3_ADD_FUNCTION(mote_gemm3_##id##_add, weights, out_, s) \
    typedef mote_pointwise3_t mote_pointwise3_##id##_add_t; \
    typedef mote_conv3_t mote_conv3_##id##_add_t; \
    MOTE_NOINLINE void mote_pointwise3_##id##_add(const mote_pointwise3_t *p, const int8_t *in, \
                                                              const int8_t *other, int8_t *out, int32_t pixels, \
                                                              uint32_t *scratch) { \
        mote_gemm3_add_to(out, other, pixels * p->gemm.pixel); \
        mote_pointwise3(p, mote_gemm3_##id##_add, MOTE_GEMM3_BACK_##weights(p->gemm.depth), 0, 0, in, out, NULL, NULL, \
                        pixels, scratch); \
    } \
    MOTE_NOINLINE void mote_conv3_##id##_add_all(const mote_conv3_t *p, const int8_t *in, \
                                                             const int8_t **rows, const int8_t *other, int8_t *out, \
                                                             int32_t lo, int32_t hi, uint32_t *scratch) { \
        mote_gemm3_add_to(out, other, (hi - lo) * p->patch.rows.out_stride); \
        mote_conv3(p, mote_gemm3_##id##_add, MOTE_GEMM3_BACK_##weights(p->gemm.depth), 0, 0, in, rows, NULL, lo, \
                   (hi - lo) * p->patch.cols.out_size, out, scratch); \
    } \
    MOTE_UNUSED static inline void mote_conv3_##id##_add_row(const mote_conv3_t *p, const int8_t **rows, int8_t *out, \
                                                             uint32_t *scratch) { \
        mote_conv3_##id##_add_all(p, NULL, rows, rows[p->patch.rows.taps], out, 0, 1, scratch); \
    } \
    MOTE_UNUSED static inline void mote_conv3_##id##_add(const mote_conv3_t *p, const int8_t *in, const int8_t *other, \
                                                         int8_t *out, int32_t lo, int32_t hi, uint32_t *scratch) { \
        const int8_t *rows[MOTE_MAX_TAPS]; \
        const int32_t begin = lo * p->patch.rows.out_stride; \
        mote_window_s8(&p->patch.rows, in, lo, rows); \
        mote_conv3_##id##_add_all(p, in, rows, other + begin, out + begin, lo, hi, scratch); \
    }

#endif
