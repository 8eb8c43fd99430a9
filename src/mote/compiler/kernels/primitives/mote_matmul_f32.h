/* mote_matmul_f32.h: four sums of float32 products at once, of a row with neighbouring columns, for mote_batch_matmul.h.
 *
 * Each function adds up as many products as there are fours of them, one after another in the order of the reference, and gives
 * their number; who calls it adds the others, or all of them on a core for which there is nothing here.
 *
 *   a        the row, whose elements lie one after another
 *   b        the first column; the others lie `line` elements behind one another
 *   sums     of the four columns
 */
#ifndef MOTE_MATMUL_F32_H
#define MOTE_MATMUL_F32_H

#include "mote_block_f32.h"

#include "mote_matmul_f32_helium.h"
#include "mote_matmul_f32_vfp.h"

#ifndef mote_matmul_along_f32
static inline int32_t mote_matmul_along_f32(const float *a, const float *b, int32_t line, int32_t n, float *sums) {
    (void)a, (void)b, (void)line, (void)n, (void)sums;
    return 0;
}

static inline int32_t mote_matmul_across_f32(const float *a, const float *b, int32_t step, int32_t n, float *sums) {
    (void)a, (void)b, (void)step, (void)n, (void)sums;
    return 0;
}
#endif

#endif
