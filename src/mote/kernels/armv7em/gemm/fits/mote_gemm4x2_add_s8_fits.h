/* mote_gemm4x2_add_s8_fits.h: whether parameters of the kernels in mote_gemm4x2_add_s8.h fit. */
#ifndef MOTE_GEMM4X2_ADD_S8_FITS_H
#define MOTE_GEMM4X2_ADD_S8_FITS_H

#include "mote_gemm4x2_add_s8.h"
#include "mote_gemm4x2_s8_fits.h"

#define MOTE_GEMM4X2_ADD_CODE_FITS(id, weights, out, s, line, taps, words, rest, near, place, fours) \
    static const mote_gemm4x2_built_t mote_gemm4x2_##id##_built = { \
        MOTE_FORM_##weights | MOTE_FORM_##out | MOTE_FORM_added, line, taps, words, rest, near, place, fours};
#define MOTE_POINTWISE4X2_ADD_FITS(id) \
    MOTE_UNUSED static inline int mote_pointwise4x2_##id##_add_fits(const mote_pointwise3_t *p, \
                                                                    const mote_room_t *room) { \
        return mote_pointwise4x2_fits(p, room, &mote_gemm4x2_##id##_built); \
    }
#define MOTE_CONV4X2_ADD_FITS(id) \
    MOTE_UNUSED static inline int mote_conv4x2_##id##_add_fits(const mote_conv4x2_t *p, const mote_room_t *room) { \
        return mote_conv4x2_fits(p, room, &mote_gemm4x2_##id##_built); \
    }

#endif
