/* mote_depthwise_nhwc_s8_fits.h: whether parameters of the kernels in mote_depthwise_nhwc_s8.h fit. */
#ifndef MOTE_DEPTHWISE_NHWC_S8_FITS_H
#define MOTE_DEPTHWISE_NHWC_S8_FITS_H

#include "mote_depthwise_nhwc_s8.h"
#include "mote_depthwise_two_s8_fits.h"
#include "mote_depthwise_wide_s8_fits.h"

/* What the kernel over planar rows was checked for. */
typedef struct {
    const mote_window_t *rows;
    int32_t channels, outputs, line;
    int32_t count; /* rows of outputs that it computes at once */
} mote_planes_used_t;

/* Whether the ring has the rows under `count` rows of outputs, and which of them are left out is as it was checked. */
static inline int mote_planes_window_fits(const mote_planes_t *p, const mote_planes_used_t *used) {
    const mote_window_t *const w = &p->rows, *const of = used->rows;
    const uint32_t taps = mote_bytes_of(w->taps, p->parts, 1);
    if (!mote_steps_short(w->taps | w->step | w->spread | w->pad | of->taps | of->step | of->spread | of->pad) ||
        w->taps <= 0 || w->spread <= 0 || p->parts <= 0 || taps > MOTE_MAX_TAPS || taps != mote_size(of->taps) ||
        of->out_rows != w->out_rows || (used->count > 1 && (of->step != w->step || p->parts > 1)) ||
        mote_bytes_of(w->out_rows, w->step, 1) > MOTE_LARGEST || mote_bytes_of(of->out_rows, of->step, 1) > MOTE_LARGEST) {
        return 0;
    }
    const int32_t reach = (w->taps - 1) * w->spread + 1, last = (of->out_rows - 1) * of->step;
    const int same = of->pad == w->pad && of->in_rows == w->in_rows && of->step == w->step && of->spread == w->spread;
    return p->ring >= reach + (used->count - 1) * w->step &&
           (p->filled ? of->pad == 0 && of->in_rows > last + (of->taps - 1) * of->spread : p->parts == 1 && same);
}

MOTE_NOINLINE int mote_planes_t_fits(const mote_planes_t *p, const mote_room_t *room, const mote_planes_used_t *used) {
    const mote_window_t *const w = &p->rows;
    const uint32_t pixel = mote_bytes_of(p->channels, p->multiplier, 1);
    if (room->form != MOTE_RUN_WHOLE ||
        !mote_counts(p->count | p->width | p->channels | p->outputs | p->multiplier | p->spread | p->line | p->ring) ||
        !mote_counts(w->in_rows | w->out_rows | w->in_stride | w->out_stride) || w->out_rows <= 0 || p->channels <= 0 ||
        p->multiplier <= 0 || p->line <= 0 || p->spread <= 0 || p->ring <= 0 || p->outputs <= 0 || p->width <= 0 ||
        !mote_within(p->before, -MOTE_LONGEST, MOTE_LONGEST) || p->count / w->out_rows >= MOTE_LONGEST ||
        pixel != mote_size(used->channels) || p->line != used->line || p->line % 4 != 0 ||
        used->outputs != (p->outputs + p->spread - 1) / p->spread ||
        mote_bytes_of(p->line, p->spread, 4) > MOTE_LARGEST) {
        return 0;
    }
    const uint32_t few = p->channels < 4 ? 4 : 0, in = mote_bytes_of(p->width, p->channels, 1);
    const uint32_t lines = mote_bytes_of(few ? 4 : p->channels, p->multiplier, 1);
    const uint32_t row = mote_much_times(mote_much_times(lines, (uint32_t)p->line), (uint32_t)p->spread);
    const uint32_t outs = mote_much_plus(mote_much_times((uint32_t)used->outputs, pixel), 3);
    const uint32_t ring = mote_much_plus(mote_much_times(row, (uint32_t)p->ring), p->spread > 1 ? outs & ~(uint32_t)3 : 0);
    const uint32_t behind = mote_much_plus((uint32_t)mote_planes_pixel(p), few ? mote_much_plus(in, few) : 0);
    const uint32_t out = mote_much_times(pixel, (uint32_t)p->outputs);
    return mote_planes_window_fits(p, used) && mote_much_plus(ring, behind) <= room->scratch &&
           in <= (uint32_t)w->in_stride && out <= (uint32_t)w->out_stride &&
           mote_takes(room, 0, mote_images_bytes(p->count, w->out_rows, w->in_rows, (uint32_t)w->in_stride), 1) &&
           mote_gives(room, mote_rows_bytes(p->count, (uint32_t)w->out_stride, out), 1);
}

#define MOTE_DEPTHWISE3_NHWC_FITS(id, of) \
    MOTE_UNUSED static inline int mote_##id##_fits(const mote_depthwise3_nhwc_t *p, const mote_room_t *room) { \
        const mote_planar_t *const planar = &p->planar; \
        const mote_planes_used_t used = {&planar->rows, planar->channels, planar->outputs, \
                                         planar->columns + planar->skip, 1}; \
        return mote_planar_fits(planar, room, &mote_##of##_built) && mote_planes_t_fits(&p->planes, room, &used); \
    }
#define MOTE_DEPTHWISE_TWO_NHWC_FITS(id, of, one, stride, outputs_, channels_, line) \
    MOTE_UNUSED static inline int mote_##id##_fits(const mote_depthwise3_nhwc_t *p, const mote_room_t *room) { \
        static const mote_two_built_t two = {stride, outputs_, channels_, line}; \
        const mote_planes_used_t used = {&p->planar.rows, channels_, outputs_, line, 2}; \
        return mote_planar_fits(&p->planar, room, &mote_##one##_built) && mote_two_built_fits(&p->planar, &two) && \
               mote_planes_t_fits(&p->planes, room, &used); \
    }
#define MOTE_DEPTHWISE_WIDE_NHWC_FITS(id, of, form, ...) \
    MOTE_UNUSED static inline int mote_##id##_fits(const mote_depthwise_wide_nhwc_t *p, const mote_room_t *room) { \
        static const int32_t built[MOTE_WIDE_NUMBERS] = {__VA_ARGS__}; \
        const mote_planes_used_t used = {&p->planar.rows, p->planar.channels, p->planar.outputs, p->planar.line, 1}; \
        return mote_wide_built_fits(&p->planar, room, built, MOTE_WIDE_CONSTANTS_OF_##form) && \
               mote_planes_t_fits(&p->planes, room, &used); \
    }

#endif
