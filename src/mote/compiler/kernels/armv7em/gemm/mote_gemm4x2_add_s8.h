/* mote_gemm4x2_add_s8.h: the convolutions of mote_gemm4x2_s8.h and the addition or subtraction behind them, at once.
 *
 * As in mote_gemm3_add_s8.h what is added lies where the outputs go, and three constants come before all of the stream.
 * Five cycles a byte more than without the addition on a Cortex-M4.
 */
#ifndef MOTE_GEMM4X2_ADD_S8_H
#define MOTE_GEMM4X2_ADD_S8_H

#include "mote_gemm3_add_s8.h"
#include "mote_gemm4x2_s8.h"

#if MOTE_DSP
#define MOTE_GEMM4X2_ADD_CODE MOTE_GEMM4X2_CODE
#define MOTE_GEMM4X2_ADD_ANY_CODE MOTE_GEMM4X2_ANY_CODE
#else
#define MOTE_GEMM4X2_ADD_CODE(id, weights, out, s, line, taps, words, rest, text) \
    MOTE_UNUSED static inline void mote_gemm4x2_##id(const mote_gemm4x2_frame_t *frame) { \
        mote_gemm4x2_c(frame, mote_gemm3_##weights, mote_gemm3_##out, s, line, taps, words, rest, \
                       MOTE_GEMM3_ADD_SHIFT, NULL); \
    }
#define MOTE_GEMM4X2_ADD_ANY_CODE(id, weights, out, s, text) \
    MOTE_UNUSED static inline void mote_gemm4x2_##id(const mote_gemm4x2_frame_t *frame, const mote_gemm3_t *gemm, \
                                                     int32_t widening) { \
        mote_gemm4x2_any_c(frame, gemm, widening, mote_gemm3_##weights, mote_gemm3_##out, s, MOTE_GEMM3_ADD_SHIFT); \
    }
#endif

/* The functions behind those of MOTE_POINTWISE4X2 or MOTE_CONV4X2 with code that adds. Row functions find what is added
 * behind the rows of the window. */
#define MOTE_POINTWISE4X2_ADD(id) \
    typedef mote_pointwise3_t mote_pointwise4x2_##id##_add_t; \
    MOTE_UNUSED static inline void mote_pointwise4x2_##id##_add(const mote_pointwise3_t *p, const int8_t *in, \
                                                                const int8_t *other, int8_t *out, int32_t lo, \
                                                                int32_t hi, uint32_t *scratch) { \
        const int32_t begin = lo * p->out_stride; \
        mote_gemm3_add_to(out + begin, other + begin, (hi - lo) * p->out_stride); \
        mote_pointwise4x2_##id(p, in, out, lo, hi, scratch); \
    }
#define MOTE_CONV4X2_ADD(id) \
    typedef mote_conv4x2_t mote_conv4x2_##id##_add_t; \
    MOTE_UNUSED static inline void mote_conv4x2_##id##_add_row(const mote_conv4x2_t *p, const int8_t **rows, \
                                                               int8_t *out, uint32_t *scratch) { \
        mote_gemm3_add_to(out, rows[p->patch.rows.taps], p->patch.rows.out_stride); \
        mote_conv4x2_##id##_row(p, rows, out, scratch); \
    } \
    MOTE_UNUSED static inline void mote_conv4x2_##id##_add(const mote_conv4x2_t *p, const int8_t *in, \
                                                           const int8_t *other, int8_t *out, int32_t lo, int32_t hi, \
                                                           uint32_t *scratch) { \
        const int32_t begin = lo * p->patch.rows.out_stride; \
        mote_gemm3_add_to(out + begin, other + begin, (hi - lo) * p->patch.rows.out_stride); \
        mote_conv4x2_##id(p, in, out, lo, hi, scratch); \
    }

#endif
