/* mote_elements_s8.h: runs of int8 elements. */
#ifndef MOTE_ELEMENTS_S8_H
#define MOTE_ELEMENTS_S8_H

#include "mote_common.h"

#define MOTE_ADD_SHIFT 21

typedef struct {
    int32_t a, b, c;
} mote_add_s8_t;

#include "mote_elements_s8_helium.h"
#include "mote_elements_s8_dsp.h"

#ifndef mote_add_narrow
static inline int8_t mote_add_narrow(int32_t sum) { return mote_clamp(sum >> MOTE_ADD_SHIFT, -128, 127); }
#endif

/* n times a * x + b * y + c, shifted and clamped. */
#ifndef mote_add_s8
static inline void mote_add_s8(const mote_add_s8_t *p, const int8_t *x, const int8_t *y, int8_t *out, int32_t n) {
    const int32_t a = p->a, b = p->b, c = p->c;
#ifndef MOTE_FEW_REGISTERS
    for (; n >= 4; n -= 4, x += 4, y += 4, out += 4) {
        const int32_t x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
        const int32_t y0 = y[0], y1 = y[1], y2 = y[2], y3 = y[3];
        out[0] = mote_add_narrow(c + a * x0 + b * y0);
        out[1] = mote_add_narrow(c + a * x1 + b * y1);
        out[2] = mote_add_narrow(c + a * x2 + b * y2);
        out[3] = mote_add_narrow(c + a * x3 + b * y3);
    }
#endif
    for (; n > 0; n--) {
        *out++ = mote_add_narrow(c + a * *x++ + b * *y++);
    }
}
#endif

/* n elements looked up in a table that begins with the result of -128. */
#ifndef mote_lut_run
static inline void mote_lut_run(const int8_t *table, const int8_t *in, int8_t *out, int32_t n) {
    const int8_t *const at = table + 128;
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

#endif
