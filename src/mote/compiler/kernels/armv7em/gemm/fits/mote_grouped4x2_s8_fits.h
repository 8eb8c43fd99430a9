/* mote_grouped4x2_s8_fits.h: whether parameters of the kernels in mote_grouped4x2_s8.h fit. */
#ifndef MOTE_GROUPED4X2_S8_FITS_H
#define MOTE_GROUPED4X2_S8_FITS_H

#include "mote_gemm4x2_s8_fits.h"
#include "mote_grouped4x2_s8.h"

MOTE_NOINLINE int mote_grouped4x2_fits(const mote_grouped4x2_t *p, const mote_room_t *room, int32_t form) {
    const mote_patch_t *const w = &p->patch;
    const mote_gemm4x2_built_t built = {form, 0, -1, 0, 0, 0, 0, 0, 0};
    mote_gemm3_t all = p->gemm;
    all.channels = all.pixel;
    if (!mote_conv3_room_fits(w, &all, room, form) || !mote_gemm4x2_fits(&all, room, &built, w->cols.out_size) ||
        !mote_counts(p->groups | p->inputs | p->gemm.channels) || p->inputs == 0 || p->inputs % 4 != 0 ||
        p->gemm.channels == 0 || p->gemm.channels % 2 != 0 || w->cols.out_size < 4 ||
        mote_count(p->groups, p->inputs, 1, 1) != (uint32_t)w->in_channels ||
        mote_count(p->groups, p->gemm.channels, 1, 1) != (uint32_t)all.channels ||
        mote_count(w->rows.taps, w->cols.taps, p->inputs, 1) != (uint32_t)p->gemm.depth) {
        return 0;
    }
    const uint32_t weights = (uint32_t)p->gemm.depth / 2 * (form & MOTE_FORM_pair ? 1 : 2);
    const uint32_t stream = mote_much_times((uint32_t)p->gemm.channels / 2, 2 + weights + mote_gemm3_constants(form));
    const uint32_t columns = mote_size(mote_grouped4x2_columns(&w->cols));
    const uint32_t pitch = mote_much_times(columns, (uint32_t)w->in_channels);
    const int32_t last = (w->cols.out_size - 1) * w->cols.step + (w->cols.taps - 1) * w->cols.spread;
    const int32_t inside = w->cols.pad == 0 && last < w->cols.in_size && mote_rows_inside(&w->rows, room);
    const uint32_t copies = inside ? 0 : mote_much_times((uint32_t)w->rows.taps, pitch);
    return mote_size(p->words) == stream && room->scratch >= mote_much_plus(8 * (uint32_t)p->gemm.depth, copies);
}

#endif
