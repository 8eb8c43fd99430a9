/* mote_gemm3_add_s8_fits.h: whether parameters of the kernels in mote_gemm3_add_s8.h fit. */
#ifndef MOTE_GEMM3_ADD_S8_FITS_H
#define MOTE_GEMM3_ADD_S8_FITS_H

#include "mote_gemm3_add_s8.h"
#include "mote_gemm3_s8_fits.h"

#define MOTE_GEMM3_ADD_FITS(weights, out, s) MOTE_GEMM3_ADD_FITS_(weights, out, weights##_##out##_##s)
#define MOTE_GEMM3_ADD_FITS_(weights, out, id) \
    enum { mote_gemm3_##id##_add_form = MOTE_FORM_##weights | MOTE_FORM_##out | MOTE_FORM_added }; \
    MOTE_UNUSED static inline int mote_pointwise3_##id##_add_fits(const mote_pointwise3_t *p, \
                                                                  const mote_room_t *room) { \
        return mote_pointwise3_fits(p, room, mote_gemm3_##id##_add_form, 1); \
    } \
    MOTE_UNUSED static inline int mote_conv3_##id##_add_fits(const mote_conv3_t *p, const mote_room_t *room) { \
        return mote_conv3_fits(p, room, mote_gemm3_##id##_add_form); \
    }

#endif
