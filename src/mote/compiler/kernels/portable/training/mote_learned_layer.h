/* mote_learned_layer.h: layers of mote_layer_*.h whose weights, and biases, are given with every call: what learns has no
 * place among constants.
 *
 * A copy of the layer's parameters points to them. `how` is BIASED, or UNBIASED where parameters have the biases. */
#ifndef MOTE_LEARNED_LAYER_H
#define MOTE_LEARNED_LAYER_H

#include "mote_common.h"

#define MOTE_BIASED_TAKES(parameter) , parameter
#define MOTE_BIASED_SETS(statement) statement
#define MOTE_UNBIASED_TAKES(parameter)
#define MOTE_UNBIASED_SETS(statement)

/* Output rows lo..hi-1, or one from pointers to input rows, behind which one points to weights, and one to biases. */
#define MOTE_LEARNED_ROWS(name, of, how) \
    typedef mote_##of##_t mote_##name##_t; \
    MOTE_UNUSED static inline void mote_##name(const mote_##of##_t *p, const float *in, \
                                               const float *weights MOTE_##how##_TAKES(const float *bias), float *out, \
                                               int32_t lo, int32_t hi) { \
        mote_##of##_t layer = *p; \
        layer.weights = weights; \
        MOTE_##how##_SETS(layer.finish.bias = bias;) \
        mote_##of(&layer, in, out, lo, hi); \
    } \
    MOTE_UNUSED static inline void mote_##name##_row(const mote_##of##_t *p, const float *const *rows, float *out) { \
        mote_##of##_t layer = *p; \
        layer.weights = rows[p->rows.taps]; \
        MOTE_##how##_SETS(layer.finish.bias = rows[p->rows.taps + 1];) \
        mote_##of##_row(&layer, rows, out); \
    }

/* So many vectors. */
#define MOTE_LEARNED_FLAT(name, of, how) \
    typedef mote_##of##_t mote_##name##_t; \
    MOTE_UNUSED static inline void mote_##name(const mote_##of##_t *p, const float *in, \
                                               const float *weights MOTE_##how##_TAKES(const float *bias), float *out, \
                                               int32_t vectors) { \
        mote_##of##_t layer = *p; \
        layer.weights = weights; \
        MOTE_##how##_SETS(layer.finish.bias = bias;) \
        mote_##of(&layer, in, out, vectors); \
    }

#endif
