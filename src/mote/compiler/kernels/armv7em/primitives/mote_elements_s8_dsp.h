/* mote_elements_s8_dsp.h: mote_elements_s8.h, which includes it, on Armv7-M and with DSP instructions. */
#ifndef MOTE_ELEMENTS_S8_DSP_H
#define MOTE_ELEMENTS_S8_DSP_H

#include "mote_dsp.h"

#if defined(__ARM_FEATURE_SAT) && defined(__GNUC__) && !defined(MOTE_PORTABLE)
static inline int8_t mote_add_narrow(int32_t sum) {
    int32_t y;
    __asm__("ssat %0, #8, %1, asr %2" : "=r"(y) : "r"(sum), "I"(MOTE_ADD_SHIFT));
    return (int8_t)y;
}
#define mote_add_narrow mote_add_narrow
#endif

#if MOTE_DSP && !defined(mote_lut_run)
#define MOTE_LUT_EACH(step) \
    step("r4") step("r5") step("r6") step("r7") step("r8") step("r9") step("r10") step("r11")
#define MOTE_LUT_LOAD(x) "ldrsb " x ", [r1], #1\n\t"
#define MOTE_LUT_LOOK(x) "ldrb " x ", [r0, " x "]\n\t"
#define MOTE_LUT_STORE(x) "strb " x ", [r2], #1\n\t"

/* n elements, a multiple of eight; `at` is where the table has the result of zero. 26 instructions for eight. */
__attribute__((naked, noinline, unused)) static void mote_lut_eights(const int8_t *at __attribute__((unused)),
                                                                     const int8_t *in __attribute__((unused)),
                                                                     int8_t *out __attribute__((unused)),
                                                                     int32_t n __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n"
                     "1:\n\t" MOTE_LUT_EACH(MOTE_LUT_LOAD) MOTE_LUT_EACH(MOTE_LUT_LOOK) MOTE_LUT_EACH(MOTE_LUT_STORE)
                     "subs r3, r3, #8\n\t"
                     "bne 1b\n\t"
                     "pop {r4-r11, pc}\n\t");
}

static inline void mote_lut_run(const int8_t *table, const int8_t *in, int8_t *out, int32_t n) {
    const int8_t *const at = table + 128;
    const int32_t eights = n & ~7;
    if (eights > 0) {
        mote_lut_eights(at, in, out, eights);
    }
    n -= eights, in += eights, out += eights;
    for (; n > 0; n--) {
        *out++ = at[*in++];
    }
}
#define mote_lut_run mote_lut_run
#endif

#endif
