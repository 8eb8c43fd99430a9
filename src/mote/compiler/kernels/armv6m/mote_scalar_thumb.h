/* mote_scalar_thumb.h: mote_scalar.h on cores with 16-bit instructions only. */
#ifndef MOTE_SCALAR_THUMB_H
#define MOTE_SCALAR_THUMB_H

#include "mote_compiler.h"

#if defined(__ARM_ARCH_6M__)
#define MOTE_FEW_REGISTERS /* loops that do several elements at once would spill */
#endif

/* Feature i of a row. Signed ones are only loaded from a sum of two registers: gcc would make one address after another for that. */
#if defined(__thumb__) && !defined(__thumb2__) && defined(__GNUC__)
#define MOTE_FOREST_LOAD(suffix, type, load) \
    static inline int32_t mote_forest_##suffix(const type *x, uint32_t i) { \
        int32_t value; \
        __asm__(load " %0, [%1, %2]" \
                : "=l"(value) \
                : "l"(x), "l"(i * sizeof(type)), "m"(*(const type(*)[0x7FFFFFFF / sizeof(type)])x)); \
        return value; \
    }
MOTE_FOREST_LOAD(s8, int8_t, "ldrsb")
MOTE_FOREST_LOAD(s16, int16_t, "ldrsh")
#define mote_forest_s8 mote_forest_s8
#define mote_forest_s16 mote_forest_s16
#endif

#endif
