/* mote_common_fits.h: checks of the structs of mote_common.h: sliding windows and the constants of channels.
 *
 * Numbers of a struct are or'ed together where all of them must be small: high bits of any of them stay.
 */
#ifndef MOTE_COMMON_FITS_H
#define MOTE_COMMON_FITS_H

#include "mote_elements_fits.h"

#define MOTE_LONGEST ((int32_t)1 << 15) /* of what a window steps, spreads, takes or is padded by */

/* Whether counts, or'ed together, are 0 or more, and not too large to be reckoned with. */
static inline int mote_counts(int32_t numbers) { return (uint32_t)numbers < MOTE_LARGEST; }

/* The same of the steps of windows. */
static inline int mote_steps_short(int32_t numbers) { return (uint32_t)numbers < MOTE_LONGEST; }

/* Whether the kernel's own function is asked for rows of the output from 0 on. */
static inline int mote_asks_rows(const mote_room_t *room) {
    return mote_of_tensors(room) && mote_counts(room->lo | room->hi) && room->lo <= room->hi;
}

/* The same for units. */
static inline int mote_asks_units(const mote_room_t *room) { return mote_of_tensors(room) && mote_counts(room->hi); }

/* Whether one input row is added to running sums. */
static inline int mote_asks_sums(const mote_room_t *room) {
    return room->form == MOTE_RUN_SUMS && mote_counts(room->lo | room->hi) && room->lo < room->hi;
}

/* Whether so many vectors as the kernel is asked for have room, of elements of a size, and those made from them. */
static inline int mote_vectors_fit(const mote_room_t *room, int32_t depth, int32_t channels, uint32_t size) {
    return mote_of_tensors(room) &&
           mote_takes(room, 0, mote_much_times(mote_count(room->hi, depth, 1, 1), size), size) &&
           mote_gives(room, mote_much_times(mote_count(room->hi, channels, 1, 1), size), size);
}

/* Images that output rows 0..hi-1 belong to, `rows` of which make one. */
static inline uint32_t mote_images(int32_t hi, int32_t rows) {
    return ((uint32_t)hi + (uint32_t)rows - 1) / (uint32_t)rows;
}

/* Bytes of the input rows that the first `hi` output rows are made from. */
static inline uint32_t mote_images_bytes(int32_t hi, int32_t out_rows, int32_t in_rows, uint32_t row) {
    return mote_much_times(mote_much_times(mote_images(hi, out_rows), (uint32_t)in_rows), row);
}

/* Whether the columns of a window that a kernel takes are all inside of a row, and found without overflow. */
static inline int mote_span_fits(const mote_span_t *s) {
    return mote_counts(s->in_size | s->out_size) && mote_steps_short(s->taps | s->step | s->spread | s->pad) &&
           s->spread > 0 &&
           mote_much_plus(mote_bytes_of(s->out_size, s->step, 1), (uint32_t)(s->taps * s->spread)) != MOTE_MUCH;
}

/* Whether every window has a column inside of the row. */
static inline int mote_span_filled(const mote_span_t *s) {
    return s->spread == 1 && s->in_size > 0 && s->pad < s->taps &&
           (s->out_size - 1) * s->step - s->pad < s->in_size;
}

/* Bytes of some rows, `row` bytes apart, of the last of which only the first `last` are touched. */
static inline uint32_t mote_rows_bytes(int32_t count, uint32_t row, uint32_t last) {
    return count > 0 ? mote_much_plus(mote_much_times((uint32_t)count - 1, row), last) : 0;
}

/* Whether rows have room that a window reads and writes; `in` and `out` are what is touched of one of each, in bytes,
 * of elements of a size. Which rows lie outside of the image the kernel finds out itself, and for each row the number
 * of its image by counting. */
static inline int mote_window_fits(const mote_window_t *w, const mote_room_t *room, uint32_t in, uint32_t out,
                                   uint32_t size) {
    const uint32_t row = (uint32_t)w->in_stride * size;
    if (out == 0) {
        return 0;
    }
    if (room->form == MOTE_RUN_ROW) {
        return mote_within(w->taps, 0, room->taps[0]) && mote_takes(room, 0, in, size) && mote_gives(room, out, size);
    }
    return mote_asks_rows(room) && mote_counts(w->in_rows | w->out_rows | w->in_stride | w->out_stride) &&
           w->out_rows > 0 && room->hi / w->out_rows < MOTE_LONGEST && mote_within(w->taps, 0, MOTE_MAX_TAPS) &&
           in <= row &&
           out <= (uint32_t)w->out_stride * size &&
           mote_takes(room, 0, mote_images_bytes(room->hi, w->out_rows, w->in_rows, row), size) &&
           mote_gives(room, mote_rows_bytes(room->hi, (uint32_t)w->out_stride * size, out), size);
}

/* The same of windows over pixels of so many channels, which become pixels of others. */
static inline int mote_pixels_fit(const mote_window_t *rows, const mote_span_t *cols, const mote_room_t *room,
                                  int32_t in_channels, int32_t out_channels, uint32_t size) {
    return mote_span_fits(cols) && mote_counts(in_channels | out_channels) &&
           mote_window_fits(rows, room, mote_bytes_of(cols->in_size, in_channels, size),
                            mote_bytes_of(cols->out_size, out_channels, size), size);
}

/* Whether an array has a times b times c times d elements of a size, one at least. */
static inline int mote_array_fits(const mote_room_t *room, const void *array, int32_t a, int32_t b, int32_t c,
                                  int32_t d, uint32_t size) {
    return mote_holds(room, array, mote_much_times(mote_count(a, b, c, d), size), size);
}

/* Whether there are constants for so many channels, with shifts from `least` on. */
static inline int mote_channels_fit(const mote_channel_t *channel, const mote_room_t *room, int32_t count,
                                    int32_t least) {
    int fits = mote_counts(count) && mote_holds(room, channel, (uint32_t)count * sizeof *channel, 4);
    for (; fits && count > 0; count--, channel++) {
        fits = mote_within(channel->shift, least, 31);
    }
    return fits;
}

/* The least shift that mote_requantize takes. */
static inline int32_t mote_least_shift(const mote_output_t *output) { return output->plain ? 0 : -32; }

/* The least shift that mote_finish_fc takes. */
static inline int32_t mote_least_shift_fc(int32_t once) { return once ? -31 : -32; }

/* Whether there are the weights of vectors, for outputs in fours, whose inputs come in fours as well, and one by one. */
static inline int mote_fours_fit(const mote_room_t *room, const int8_t *weights, int32_t inputs, int32_t outputs) {
    const uint32_t depth = mote_size(inputs), channels = mote_size(outputs);
    return mote_holds(room, weights,
                      mote_much_plus(mote_much_times(channels / 4, (depth + 3) / 4 * 16), channels % 4 * depth), 4);
}

#endif
