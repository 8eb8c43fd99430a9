/* mote_add_s8.h: int8 addition and subtraction in one step.
 *
 * LiteRT shifts both inputs left by 20, rescales them to a common scale, adds, rescales the sum, clamps. The
 * compiler finds a, b, c with which `clamp((a * x + b * y + c) >> 21)` does the same, proves it by trying
 * all 65,536 pairs of x and y, and that nothing overflows. Where there are none: mote_add_exact_s8.h. */
#ifndef MOTE_ADD_S8_H
#define MOTE_ADD_S8_H

#include "mote_broadcast.h"
#include "mote_elements_s8.h"

typedef struct {
    mote_broadcast_t walk;
    mote_add_s8_t add;
} mote_add_rows_s8_t;

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
