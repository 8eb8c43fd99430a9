/* mote_max_pairs_s8.h: the maximum of 2x2 pixels, int8, where width and height are even. */
#ifndef MOTE_MAX_PAIRS_S8_H
#define MOTE_MAX_PAIRS_S8_H

#include <stdint.h>

typedef struct {
    int32_t width, channels; /* of the output */
} mote_max_pairs_s8_t;

static inline int8_t mote_max_pairs_larger(int8_t a, int8_t b) { return a > b ? a : b; }

/* One output row from the two input rows under it, wherever these lie. */
static inline void mote_max_pairs_s8_row(const mote_max_pairs_s8_t *p, const int8_t *const *rows, int8_t *out) {
    const int8_t *top = rows[0], *bottom = rows[1];
    for (int32_t x = 0; x < p->width; x++) {
        for (int32_t c = 0; c < p->channels; c++) {
            const int8_t left = mote_max_pairs_larger(top[c], bottom[c]);
            const int8_t right = mote_max_pairs_larger(top[c + p->channels], bottom[c + p->channels]);
            *out++ = mote_max_pairs_larger(left, right);
        }
        top += 2 * p->channels;
        bottom += 2 * p->channels;
    }
}

/* Output rows lo..hi-1 of tensors that lie in one piece. */
static inline void mote_max_pairs_s8(const mote_max_pairs_s8_t *p, const int8_t *in, int8_t *out, int32_t lo,
                                     int32_t hi) {
    const int32_t line = 2 * p->width * p->channels;
    for (int32_t y = lo; y < hi; y++) {
        const int8_t *rows[2];
        rows[0] = in + 2 * y * line;
        rows[1] = rows[0] + line;
        mote_max_pairs_s8_row(p, rows, out + y * p->width * p->channels);
    }
}

#endif
