/* mote_momentum_s8.h: int8 weights and int32 biases move by an update that several samples have added up.
 *
 * An update has 2^bits steps for each step of what it changes, and the sign of the change. With the last of `every`
 * samples it is added, rounded down or up by chance, and what momentum keeps of it begins the next one. */
#ifndef MOTE_MOMENTUM_S8_H
#define MOTE_MOMENTUM_S8_H

#include "mote_step_rounding.h"

typedef struct {
    int32_t size, every;
    int32_t kept; /* momentum * 2^16 */
    int32_t bits, seed;
} mote_momentum_t;

/* The elements that move with a sample: all with the last one of a step, or none. */
static inline int32_t mote_momentum_due(const mote_momentum_t *p, const int32_t *number) {
    return ((uint32_t)*number + 1) % (uint32_t)p->every == 0 ? p->size : 0;
}

static inline int32_t mote_momentum_moved(const mote_momentum_t *p, int32_t before, int32_t update, uint32_t noise,
                                          int32_t most) {
    const int32_t change = (update + (int32_t)(noise >> (32 - p->bits))) >> p->bits;
    return mote_step_within(mote_step_within(before, most) + change, most);
}

static inline int32_t mote_momentum_kept(const mote_momentum_t *p, int32_t update, uint32_t noise) {
    return (int32_t)(((int64_t)update * p->kept + (int32_t)(noise & 0xffff)) >> 16);
}

MOTE_NOINLINE void mote_momentum_s8(const mote_momentum_t *p, const int32_t *number, int8_t *update, int8_t *weights) {
    const uint32_t step = mote_step_seed(*number, p->seed);
    const int32_t count = mote_momentum_due(p, number);
    for (int32_t i = 0; i < count; i++) {
        const uint32_t noise = mote_step_noise(step, i);
        weights[i] = (int8_t)mote_momentum_moved(p, weights[i], update[i], noise, 127);
        update[i] = (int8_t)mote_momentum_kept(p, update[i], noise);
    }
}

MOTE_NOINLINE void mote_momentum_s32(const mote_momentum_t *p, const int32_t *number, int32_t *update, int32_t *bias) {
    const uint32_t step = mote_step_seed(*number, p->seed);
    const int32_t count = mote_momentum_due(p, number), most = ((int32_t)1 << 30) - 1;
    for (int32_t i = 0; i < count; i++) {
        const uint32_t noise = mote_step_noise(step, i);
        bias[i] = mote_momentum_moved(p, bias[i], update[i], noise, most);
        update[i] = mote_momentum_kept(p, update[i], noise);
    }
}

#endif
