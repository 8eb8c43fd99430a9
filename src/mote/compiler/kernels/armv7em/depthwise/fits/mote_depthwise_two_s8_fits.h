/* mote_depthwise_two_s8_fits.h: whether parameters of the kernels in mote_depthwise_two_s8.h fit. */
#ifndef MOTE_DEPTHWISE_TWO_S8_FITS_H
#define MOTE_DEPTHWISE_TWO_S8_FITS_H

#include "mote_depthwise3_s8_fits.h"
#include "mote_depthwise_two_s8.h"

/* What is built into the code of two rows of outputs. */
typedef struct {
    int32_t stride, outputs, channels, line;
} mote_two_built_t;

/* Whether the code is for these rows, wherever they lie. */
static inline int mote_two_built_fits(const mote_planar_t *p, const mote_two_built_t *b) {
    const mote_window_t *const w = &p->rows;
    return p->outputs == b->outputs && p->channels == b->channels && p->columns + p->skip == b->line &&
           w->step == b->stride && w->spread == 1;
}

/* The same where one of inputs lies behind another. */
static inline int mote_two_rows_fit(const mote_planar_t *p, const mote_two_built_t *b) {
    return mote_two_built_fits(p, b) && p->rows.in_stride == b->channels * b->line;
}

MOTE_NOINLINE int mote_two_fits(const mote_planar_t *p, const mote_room_t *room, const mote_planar_built_t *one,
                                const mote_two_built_t *two) {
    return mote_two_rows_fit(p, two) && p->rows.out_stride == two->outputs * two->channels &&
           mote_depthwise3_fits(p, room, one);
}

#define MOTE_TWO_FITS(id, one, stride, outputs, channels, line) \
    MOTE_UNUSED static inline int mote_##id##_fits(const mote_planar_t *p, const mote_room_t *room) { \
        static const mote_two_built_t two = {stride, outputs, channels, line}; \
        return mote_two_fits(p, room, &mote_##one##_built, &two); \
    }
#define MOTE_TWO_APART_FITS(id, one, stride, outputs, channels, line) \
    MOTE_TWO_FITS(id, one, stride, outputs, channels, line)

#endif
