/* mote_fully_connected_coded_s8.h: int8 fully connected layer whose weights are coded: each is multiplied as it is
 * decoded, without memory for any; runs of zeros are passed over. */
#ifndef MOTE_FULLY_CONNECTED_CODED_S8_H
#define MOTE_FULLY_CONNECTED_CODED_S8_H

#include "mote_code.h"
#include "mote_fully_connected_s8.h"

typedef struct {
    int32_t depth, channels;
    int32_t round_once; /* as LiteRT does; TensorFlow Lite Micro rounds twice */
    mote_output_t output;
    mote_code_t code;     /* one output's weights after another's */
    const int32_t *start; /* of each output's sum */
    const int32_t *scale; /* multiplier and shift, as in mote_channel_t */
    int32_t step;         /* from one output's scale to the next: 0 where all have the same */
} mote_fully_connected_coded_s8_t;

/* The sum of depth inputs times the weights from bit `at` on. */
MOTE_NOINLINE MOTE_HOT int32_t mote_dot_coded(const mote_code_t *code, uint32_t *at, const int8_t *x, int32_t depth,
                                              int32_t sum) {
    const mote_code_t c = *code;
    const int8_t *const end = x + depth;
    uint32_t bit = *at;
    while (x < end) {
        int32_t place;
        if (mote_decode(&c, &bit, &place) == c.run) {
            x += place;
        } else {
            sum = MOTE_PLUS(sum, *x++ * c.values[place]);
        }
    }
    *at = bit;
    return sum;
}

static inline void mote_fully_connected_coded_s8(const mote_fully_connected_coded_s8_t *p, const int8_t *in,
                                                 int8_t *out, int32_t vectors) {
    for (; vectors > 0; vectors--, in += p->depth) {
        const int32_t *scale = p->scale;
        uint32_t at = 0;
        for (int32_t c = 0; c < p->channels; c++, scale += p->step) {
            const mote_channel_t q = {0, scale[0], scale[1]};
            const int32_t sum = mote_dot_coded(&p->code, &at, in, p->depth, p->start[c]);
            *out++ = mote_finish_fc(sum, &q, p->round_once, p->output);
        }
    }
}

#endif
