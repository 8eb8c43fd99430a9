/* mote_fully_connected_steps_s8.h: int8 fully connected layer on one vector, for layers whose results no multiplier of 31
 * bits makes LiteRT's, which multiplies in double precision: a sum becomes the number of steps that it has reached. */
#ifndef MOTE_FULLY_CONNECTED_STEPS_S8_H
#define MOTE_FULLY_CONNECTED_STEPS_S8_H

#include "mote_fully_connected_s8.h"

typedef struct {
    int32_t depth, channels;
    mote_output_t output;
    const int8_t *weights; /* as in the model */
    const int32_t *start;  /* of each output's sum */
    const int32_t *steps;  /* where results -127 to 127 begin, and the largest result that any sum has */
    int32_t step;          /* from one output's steps to the next: 0 where all have the same */
} mote_fully_connected_steps_s8_t;

static inline int32_t mote_steps_reached(int32_t sum, const int32_t *steps) {
    int32_t count = 0;
    for (int32_t more = 128; more > 0; more /= 2) {
        count += sum >= steps[count + more - 1] ? more : 0;
    }
    return mote_min(count - 128, steps[255]);
}

#define MOTE_FULLY_CONNECTED_STEPS(name, of, part_of) \
    static inline void mote_##name(const mote_##name##_t *p, const int8_t *in, int8_t *out, int32_t vectors) { \
        const mote_fully_connected_steps_s8_t *l = of(p); \
        for (; vectors > 0; vectors--, in += l->depth) { \
            const int32_t part = part_of(p, in, l->depth); \
            const int8_t *w = l->weights; \
            for (int32_t c = 0; c < l->channels; c++, w += l->depth) { \
                const int32_t sum = mote_dot_1x1(in, w, l->depth, MOTE_PLUS(l->start[c], part)); \
                *out++ = mote_clamp(mote_steps_reached(sum, l->steps + c * l->step), l->output.lo, l->output.hi); \
            } \
        } \
    }

MOTE_FULLY_CONNECTED_STEPS(fully_connected_steps_s8, MOTE_FC_ITSELF, MOTE_FC_NO_PART)

#endif
