/* mote_even_real.h: real numbers as whole ones, halves to even, as ONNX Runtime rounds. */
#ifndef MOTE_EVEN_REAL_H
#define MOTE_EVEN_REAL_H

#include "mote_common.h"

/* Numbers beyond `most` are that far; NaN is too. */
static inline int32_t mote_round_even(float steps, float most) {
    const float x = !(steps > -most) ? -most : steps > most ? most : steps;
    const int32_t whole = (int32_t)x, odd = whole & 1;
    const float rest = x - (float)whole;
    return whole + (rest > 0.5f || (rest == 0.5f && odd != 0)) - (rest < -0.5f || (rest == -0.5f && odd != 0));
}

#endif
