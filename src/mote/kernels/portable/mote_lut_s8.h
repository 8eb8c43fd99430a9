/* mote_lut_s8.h: any function of one int8 tensor, as a table of its 256 results. */
#ifndef MOTE_LUT_S8_H
#define MOTE_LUT_S8_H

#include "mote_common.h"
#include "mote_helium_elements.h"

typedef struct {
    const int8_t *table; /* from the input -128 up */
} mote_lut_s8_t;

#if MOTE_DSP && !MOTE_HELIUM
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
#endif

static inline void mote_lut_s8(const mote_lut_s8_t *p, const int8_t *in, int8_t *out, int32_t n) {
#if MOTE_HELIUM
    mote_helium_lut(p->table, in, out, n);
#else
    const int8_t *const at = p->table + 128;
#if MOTE_DSP
    const int32_t eights = n & ~7;
    if (eights > 0) {
        mote_lut_eights(at, in, out, eights);
    }
    n -= eights, in += eights, out += eights;
#else
    for (; n >= 4; n -= 4, in += 4, out += 4) {
        const int32_t a = in[0], b = in[1], c = in[2], d = in[3];
        out[0] = at[a];
        out[1] = at[b];
        out[2] = at[c];
        out[3] = at[d];
    }
#endif
    for (; n > 0; n--) {
        *out++ = at[*in++];
    }
#endif
}

#endif
