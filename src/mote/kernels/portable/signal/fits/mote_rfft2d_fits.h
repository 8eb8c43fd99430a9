/* mote_rfft2d_fits.h: whether parameters of mote_rfft2d.h fit. */
#ifndef MOTE_RFFT2D_FITS_H
#define MOTE_RFFT2D_FITS_H

#include "mote_fft_fits.h"
#include "mote_rfft2d.h"

/* After MOTE_FFT_FITS(f32, float). A spectrum of one row has no columns to transform. */
#define MOTE_RFFT2D_FITS(name) \
    MOTE_UNUSED static inline int mote_##name##_rows_fit(const mote_##name##_t *p, const mote_room_t *room) { \
        return p->row.half == p->columns - 1 && mote_rfft_half_f32_fits(&p->row, room) && \
               mote_fft_last_fits(room, p->row.half, p->row.last, sizeof(float)) && \
               mote_within(p->row.samples, 0, p->in_columns); \
    } \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        const uint32_t images = mote_count(room->hi, 1, 1, 1); \
        return mote_of_tensors(room) && mote_##name##_rows_fit(p, room) && mote_within(p->used, 1, p->rows) && \
               p->used <= p->in_rows && \
               (p->rows == 1 || (p->column.half == p->rows && mote_rfft_half_f32_fits(&p->column, room) && \
                                 mote_count(p->rows, 8, 1, 1) <= room->scratch)) && \
               mote_takes(room, 0, mote_much_times(images, mote_count(p->in_rows, p->in_columns, 4, 1)), 4) && \
               mote_gives(room, mote_much_times(images, mote_count(p->rows, p->columns, 8, 1)), 4); \
    }

static inline int mote_complex_abs_fits(const mote_complex_abs_t *p, const mote_room_t *room) {
    (void)p;
    return mote_each_fits(room, room->hi, 8, 4);
}

static inline int mote_real_fits(const mote_real_t *p, const mote_room_t *room) {
    return mote_complex_abs_fits(p, room);
}

static inline int mote_imag_fits(const mote_imag_t *p, const mote_room_t *room) {
    return mote_complex_abs_fits(p, room);
}

#endif
