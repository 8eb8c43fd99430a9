/* mote_mean_squared_error_s8.h: the mean squared error of int8 outputs: its normalized gradient, the size of a step, and
 * the loss, a state that is written over. */
#ifndef MOTE_MEAN_SQUARED_ERROR_S8_H
#define MOTE_MEAN_SQUARED_ERROR_S8_H

#include "mote_scalar.h"
#include "mote_step_size.h"

typedef struct {
    int32_t size;
} mote_mean_squared_error_t;
typedef mote_mean_squared_error_t mote_mean_squared_error_gradient_s8_t;

typedef struct {
    mote_mean_squared_error_t of;
    float unit; /* the loss of one error of 1 code */
} mote_mean_squared_error_step_s8_t;

/* The largest absolute value of an error, in codes. */
static inline int32_t mote_mean_squared_error_most(const mote_mean_squared_error_t *p, const int8_t *in,
                                                   const int8_t *target) {
    int32_t most = 0;
    for (int32_t i = 0; i < p->size; i++) {
        const int32_t error = in[i] - target[i], size = error < 0 ? -error : error;
        most = size > most ? size : most;
    }
    return most;
}

/* Errors as shares of the largest one, which is 127 or -127. */
static inline void mote_mean_squared_error_gradient_s8(const mote_mean_squared_error_t *p, const int8_t *in,
                                                       const int8_t *target, int8_t *out) {
    const int32_t most = mote_mean_squared_error_most(p, in, target);
    for (int32_t i = 0; i < p->size; i++) {
        const int32_t error = in[i] - target[i], above = 127 * (error < 0 ? -error : error) + most / 2;
        const int32_t share = most > 0 ? above / most : 0;
        out[i] = (int8_t)(error < 0 ? -share : share);
    }
}

/* The largest error, in codes, times the learning rate. */
static inline void mote_mean_squared_error_step_s8(const mote_mean_squared_error_step_s8_t *p, const int8_t *in,
                                                   const int8_t *target, const float *rate, float *loss, int32_t *out) {
    uint32_t sum = 0;
    for (int32_t i = 0; i < p->of.size; i++) {
        const int32_t error = in[i] - target[i];
        sum += (uint32_t)(error * error);
    }
    *loss = mote_product_f32((float)sum, p->unit);
    mote_step_size((uint32_t)mote_mean_squared_error_most(&p->of, in, target), 0, rate, out);
}

#endif
