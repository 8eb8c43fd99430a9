/* mote_lut_s8.h: any function of one int8 tensor, as a table of its 256 results. */
#ifndef MOTE_LUT_S8_H
#define MOTE_LUT_S8_H

#include "mote_elements_s8.h"

typedef struct {
    const int8_t *table; /* from the input -128 up */
} mote_lut_s8_t;

static inline void mote_lut_s8(const mote_lut_s8_t *p, const int8_t *in, int8_t *out, int32_t n) {
    mote_lut_run(p->table, in, out, n);
}

#endif
