/* mote_lut_avr_s8.h: any function of one int8 tensor on AVR, as a table of its 256 results in flash. */
#ifndef MOTE_LUT_AVR_S8_H
#define MOTE_LUT_AVR_S8_H

#include "mote_common.h"

typedef struct {
    const int8_t *table; /* from the input -128 up */
} mote_lut_avr_s8_t;

static inline void mote_lut_avr_s8(const mote_lut_avr_s8_t *p, const int8_t *in, int8_t *out, int32_t n) {
    const int8_t *const table = p->table;
    for (uint16_t left = (uint16_t)n; left > 0; left--) {
        *out++ = mote_flash_s8(table + (uint8_t)(*in++ + 128));
    }
}

#endif
