/* mote_part.h: one of the results of an operator that has several, as reals or as whole numbers. */
#ifndef MOTE_PART_H
#define MOTE_PART_H

#include "mote_common.h"

typedef struct {
    int32_t begin, size; /* elements */
} mote_part_f32_t;

typedef mote_part_f32_t mote_part_s32_t;

static inline void mote_part_f32(const mote_part_f32_t *p, const float *in, float *out) {
    memcpy(out, in + p->begin, (size_t)p->size * sizeof(float));
}

static inline void mote_part_s32(const mote_part_s32_t *p, const float *in, int32_t *out) {
    for (int32_t i = 0; i < p->size; i++) {
        out[i] = (int32_t)in[p->begin + i];
    }
}

#endif
