/* mote_anomaly.h: the mean squared difference between the output and the input of an autoencoder. */
#ifndef MOTE_ANOMALY_H
#define MOTE_ANOMALY_H

#include "mote_common.h"

/* Codes less their zero points, times factors that give both one step. Sums of squares fit 63 bits; the number of elements
 * is part of the score's scale. */
typedef struct {
    int32_t size;
    int32_t output_zero, output_factor, input_zero, input_factor;
    int32_t narrow, shift;
} mote_anomaly_t;

#define MOTE_ANOMALY(name, T, U)                                                                                           \
    typedef mote_anomaly_t mote_##name##_t;                                                                                \
    MOTE_UNUSED static void mote_##name(const mote_anomaly_t *p, const T *output, const U *input, int32_t *out) {          \
        const int32_t half = ((int32_t)1 << p->narrow) >> 1;                                                               \
        uint64_t sum = ((uint64_t)1 << p->shift) >> 1;                                                                     \
        for (int32_t i = 0; i < p->size; i++) {                                                                            \
            const int32_t apart = (((int32_t)output[i] - p->output_zero) * p->output_factor -                              \
                                   ((int32_t)input[i] - p->input_zero) * p->input_factor + half) >> p->narrow;             \
            sum += (uint64_t)((int64_t)apart * apart);                                                                     \
        }                                                                                                                  \
        *out = (int32_t)(sum >> p->shift);                                                                                 \
    }

typedef struct {
    int32_t size;
    float share;
} mote_anomaly_f32_t;

static inline void mote_anomaly_f32(const mote_anomaly_f32_t *p, const float *output, const float *input, float *out) {
    float sum = 0.0f;
    for (int32_t i = 0; i < p->size; i++) {
        const float apart = output[i] - input[i];
        sum = mote_add_product_f32(sum, apart, apart);
    }
    *out = sum * p->share;
}

#endif
