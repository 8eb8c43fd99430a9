/* mote_demosaic.h: lines of a colour filter array (Bayer) as RGB or gray, by bilinear interpolation. */
#ifndef MOTE_DEMOSAIC_H
#define MOTE_DEMOSAIC_H

#include "mote_pixels.h"

typedef struct {
    int32_t rows, columns;
    int32_t channels;   /* of the output */
    int32_t top, left;  /* row and column of the first red pixel: 0 or 1 */
} mote_demosaic_t;

/* Line y from the one above, itself and the one below; beyond an edge of the image that is the one on the other side. */
static inline void mote_demosaic_row(const mote_demosaic_t *p, const uint8_t *const *rows, int32_t y, uint8_t *out) {
    const uint8_t *const above = rows[0], *const line = rows[1], *const below = rows[2];
    const int32_t red_line = (y & 1) == p->top;
    for (int32_t x = 0; x < p->columns; x++) {
        const int32_t before = x > 0 ? x - 1 : 1, after = x + 1 < p->columns ? x + 1 : x - 1;
        const int32_t across = line[before] + line[after], down = above[x] + below[x];
        if (((x & 1) == p->left) == red_line) {
            const int32_t corners = above[before] + above[after] + below[before] + below[after];
            const int32_t own = line[x], green = (across + down + 2) >> 2, other = (corners + 2) >> 2;
            out = mote_put_pixel(out, p->channels, red_line ? own : other, green, red_line ? other : own);
        } else {
            const int32_t beside = (across + 1) >> 1, over = (down + 1) >> 1;
            out = mote_put_pixel(out, p->channels, red_line ? beside : over, line[x], red_line ? over : beside);
        }
    }
}

static inline void mote_demosaic(const mote_demosaic_t *p, const uint8_t *in, uint8_t *out, int32_t lo, int32_t hi) {
    for (int32_t y = lo; y < hi; y++) {
        const uint8_t *const line = in + y * p->columns;
        const uint8_t *rows[3];
        rows[0] = y > 0 ? line - p->columns : line + p->columns;
        rows[1] = line;
        rows[2] = y + 1 < p->rows ? line + p->columns : line - p->columns;
        mote_demosaic_row(p, rows, y, out + y * p->columns * p->channels);
    }
}

#endif
