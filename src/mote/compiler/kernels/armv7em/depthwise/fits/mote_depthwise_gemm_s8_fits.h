/* mote_depthwise_gemm_s8_fits.h: whether parameters of the kernels in mote_depthwise_gemm_s8.h fit. */
#ifndef MOTE_DEPTHWISE_GEMM_S8_FITS_H
#define MOTE_DEPTHWISE_GEMM_S8_FITS_H

#include "mote_depthwise_gemm_s8.h"
#include "mote_depthwise_two_s8_fits.h"
#include "mote_gemm4x2_s8_fits.h"

/* What is built into the code: of the depthwise convolution, of its rows, of the 1x1 convolution, and how many rows are
 * made at once. */
typedef struct {
    mote_planar_built_t planar;
    mote_two_built_t two;
    const mote_gemm4x2_built_t *gemm;
    uint32_t rows;
} mote_depthwise_gemm_built_t;

MOTE_NOINLINE int mote_depthwise_gemm_fits(const mote_depthwise_gemm_t *p, const mote_room_t *room,
                                           const mote_depthwise_gemm_built_t *b) {
    const mote_planar_t *const planar = &p->planar;
    const uint32_t in = mote_bytes_of(planar->channels, b->two.line, 1);
    const uint32_t out = mote_gemm3_row(&p->gemm, planar->outputs, b->gemm->form);
    mote_window_t window = planar->rows;
    window.out_stride = p->out_stride;
    return mote_two_rows_fit(planar, &b->two) && planar->channels == 4 * mote_gemm4x2_words(&p->gemm, b->gemm) &&
           p->half == planar->channels / 2 * b->planar.record && mote_planar_fits(planar, room, &b->planar) &&
           mote_gemm4x2_fits(&p->gemm, room, b->gemm, planar->outputs) && mote_size(p->out_stride) == out &&
           mote_planes_fit(room, &window, in, out) && mote_gemm3_gives(room, out, b->gemm->form) &&
           room->scratch >= mote_bytes_of(planar->outputs, planar->channels, 2 * b->rows);
}

#define MOTE_DEPTHWISE_GEMM_FITS(id, blocks, weights, stride, form, s, outputs, channels, line) \
    MOTE_DEPTHWISE_GEMM_FITS_(id, blocks, weights, stride, form, outputs, channels, line, 1)
#define MOTE_DEPTHWISE_GEMM_TWO_FITS(id, blocks, weights, stride, form, s, outputs, channels, line) \
    MOTE_DEPTHWISE_GEMM_FITS_(id, blocks, weights, stride, form, outputs, channels, line, 2)
#define MOTE_DEPTHWISE_GEMM_ANY_FITS(id, blocks, weights, stride, form, s, outputs, channels, line) \
    MOTE_DEPTHWISE_GEMM_BUILT(id, blocks) \
    MOTE_DEPTHWISE_GEMM_FITS_(id, id, weights, stride, form, outputs, channels, line, 1)
#define MOTE_DEPTHWISE_GEMM_TWO_ANY_FITS(id, blocks, weights, stride, form, s, outputs, channels, line) \
    MOTE_DEPTHWISE_GEMM_BUILT(id, blocks) \
    MOTE_DEPTHWISE_GEMM_FITS_(id, id, weights, stride, form, outputs, channels, line, 2)
#define MOTE_DEPTHWISE_GEMM_BUILT(id, blocks) \
    static const mote_gemm4x2_built_t mote_gemm4x2_##id##_built = {mote_gemm4x2_##blocks##_form, 0, -1, 0, 0, 0, 0, 0, 0};
#define MOTE_DEPTHWISE_GEMM_FITS_(id, blocks, weights, stride, form, outputs, channels, line, rows) \
    MOTE_UNUSED static inline int mote_##id##_fits(const mote_depthwise_gemm_t *p, const mote_room_t *room) { \
        static const mote_depthwise_gemm_built_t built = { \
            {MOTE_PLANAR_STRIDE_##stride, MOTE_PLANAR_RECORD(weights, form), 1, 0, 4, line}, \
            {MOTE_PLANAR_STRIDE_##stride, outputs, channels, line}, \
            &mote_gemm4x2_##blocks##_built, \
            rows}; \
        return mote_depthwise_gemm_fits(p, room, &built); \
    }

#endif
