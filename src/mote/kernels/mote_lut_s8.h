/* mote_lut_s8.h: any function of one int8 tensor, as a table of its 256 results. */
#ifndef MOTE_LUT_S8_H
#define MOTE_LUT_S8_H

#include "mote_common.h"

typedef struct {
    const int8_t *table; /* from the input -128 up */
} mote_lut_s8_t;

static inline void mote_lut_s8(const mote_lut_s8_t *p, const int8_t *in, int8_t *out, int32_t n) {
    const int8_t *const at = p->table + 128;
    for (; n >= 4; n -= 4, in += 4, out += 4) {
        const int32_t a = in[0], b = in[1], c = in[2], d = in[3];
        out[0] = at[a];
        out[1] = at[b];
        out[2] = at[c];
        out[3] = at[d];
    }
    for (; n > 0; n--) {
        *out++ = at[*in++];
    }
}

#endif
