/* mote_fours_f32.h: four float32 numbers at once: sums, differences, products, and the activation that is fused with them.
 *
 * Each function computes as many elements as there are fours of them and gives their number; who calls it computes the
 * others, or all of them on a core for which there is nothing here. */
#ifndef MOTE_FOURS_F32_H
#define MOTE_FOURS_F32_H

#include "mote_common.h"
#include "mote_fours_f32_helium.h"
#include "mote_fours_f32_vfp.h"

#ifndef MOTE_FOURS
#define MOTE_FOURS(name) \
    static inline int32_t mote_fours_##name(const float *a, const float *b, float *out, int32_t n, float low, \
                                            float high) { \
        (void)a, (void)b, (void)out, (void)n, (void)low, (void)high; \
        return 0; \
    }

MOTE_FOURS(sum)
MOTE_FOURS(difference)
MOTE_FOURS(product)
#endif

#endif
