/* mote_narrow_s8.h: sums -> int8, where outputs are clamped to all of int8 only.
 *
 * `relu` and `linear`: by the constants of the compiler's pack/narrow.py, with a shift that is built into the code.
 * `linear` is for layers whose negative results can be seen. `twice`: step by step, rounded after the multiplication and
 * after a shift to the right, by twice the multiplier (modulo 2^32) and the shift.
 */
#ifndef MOTE_NARROW_S8_H
#define MOTE_NARROW_S8_H

#include "mote_common.h"

#if MOTE_DSP
/* Two sums, with constants from where r9 points to; r4-r7, r11 and r12 are spent. */
#define MOTE_NARROW_relu(a, b, s) \
    "ldm r9!, {r4-r7}\n\t" \
    "smmla " a ", " a ", r4, r5\n\t" \
    "smmla " b ", " b ", r6, r7\n\t" \
    "ssat " a ", #8, " a ", asr #" s "\n\t" \
    "ssat " b ", #8, " b ", asr #" s "\n\t"
#define MOTE_NARROW_linear(a, b, s) \
    "ldm r9!, {r4-r7, r11, r12}\n\t" \
    "bic r6, r6, " a ", asr #31\n\t" \
    "bic r12, r12, " b ", asr #31\n\t" \
    "add r5, r5, r6\n\t" \
    "add r11, r11, r12\n\t" \
    "smmla " a ", " a ", r4, r5\n\t" \
    "smmla " b ", " b ", r7, r11\n\t" \
    "ssat " a ", #8, " a ", asr #" s "\n\t" \
    "ssat " b ", #8, " b ", asr #" s "\n\t"

/* One sum; lr: twice the zero point and one more. */
#define MOTE_NARROW_TWICE(sum, mult, shift) \
    "smmlar " sum ", " sum ", " mult ", " sum "\n\t" \
    "add " sum ", " sum ", " sum ", asr #31\n\t" \
    "asr " sum ", " sum ", " shift "\n\t" \
    "add " sum ", " sum ", lr\n\t" \
    "ssat " sum ", #8, " sum ", asr #1\n\t"

#define MOTE_NARROW_TEXT(x) #x
#define MOTE_NARROW_STRING(x) MOTE_NARROW_TEXT(x)
#else
static inline int8_t mote_narrow(int32_t sum, const int32_t *q, int32_t linear, int32_t s) {
    const int32_t add = linear && sum >= 0 ? q[1] + q[2] : q[1];
    return mote_clamp((int32_t)(((int64_t)sum * q[0] >> 32) + add) >> s, -128, 127);
}

static inline int8_t mote_narrow_twice(int32_t sum, const int32_t *q, int32_t zero) {
    const int32_t y = mote_high_mul_normal(sum, (int32_t)((uint32_t)q[0] >> 1));
    return mote_clamp((((y + (y >> 31)) >> q[1]) + zero) >> 1, -128, 127);
}
#endif

#endif
