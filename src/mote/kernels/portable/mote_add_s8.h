/* mote_add_s8.h: int8 addition and subtraction in one step.
 *
 * LiteRT shifts both inputs left by 20, rescales them to a common scale, adds, rescales the sum, clamps. The
 * compiler finds a, b, c with which `clamp((a * x + b * y + c) >> 21)` does the same, proves it by trying
 * all 65,536 pairs of x and y, and that nothing overflows. Where there are none: mote_add_exact_s8.h. */
#ifndef MOTE_ADD_S8_H
#define MOTE_ADD_S8_H

#include "mote_broadcast.h"
#include "mote_helium_elements.h"

#define MOTE_ADD_SHIFT 21

typedef struct {
    int32_t a, b, c;
} mote_add_s8_t;

typedef struct {
    mote_broadcast_t walk;
    mote_add_s8_t add;
} mote_add_rows_s8_t;

static inline int8_t mote_add_narrow(int32_t sum) {
#if defined(__ARM_FEATURE_SAT) && defined(__GNUC__) && !defined(MOTE_PORTABLE)
    int32_t y;
    __asm__("ssat %0, #8, %1, asr %2" : "=r"(y) : "r"(sum), "I"(MOTE_ADD_SHIFT));
    return (int8_t)y;
#else
    return mote_clamp(sum >> MOTE_ADD_SHIFT, -128, 127);
#endif
}

#if MOTE_HELIUM
static inline void mote_add_s8(const mote_add_s8_t *p, const int8_t *x, const int8_t *y, int8_t *out, int32_t n) {
    mote_helium_add(x, y, out, n, &p->a);
}
#else
static inline void mote_add_s8(const mote_add_s8_t *p, const int8_t *x, const int8_t *y, int8_t *out, int32_t n) {
    const int32_t a = p->a, b = p->b, c = p->c;
#ifndef __ARM_ARCH_6M__ /* which has too few registers for it */
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

static inline void mote_add_rows_s8(const mote_add_rows_s8_t *p, const int8_t *x, const int8_t *y, int8_t *out,
                                    int32_t lo, int32_t hi) {
    const mote_broadcast_t *walk = &p->walk;
    MOTE_FOR_RUNS(walk, at, out, lo, hi) {
        const int8_t *from = x + at.a;
        if (walk->b_step) {
            mote_add_s8(&p->add, from, y + at.b, out, walk->run);
        } else {
            const mote_add_s8_t one = {p->add.a, 0, p->add.c + p->add.b * y[at.b]};
            mote_add_s8(&one, from, from, out, walk->run);
        }
    }
}

#endif
