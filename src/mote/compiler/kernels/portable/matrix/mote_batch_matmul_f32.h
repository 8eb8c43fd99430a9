/* mote_batch_matmul_f32.h: products of float32 matrices: those of mote_batch_matmul.h, four products of a sum at once. */
#ifndef MOTE_BATCH_MATMUL_F32_H
#define MOTE_BATCH_MATMUL_F32_H

#include "mote_batch_matmul.h"
#include "mote_matmul_f32.h"

/* Of columns whose elements lie one after another, or of columns beside one another. */
#define MOTE_MATMUL_RUN_F32(a, b, line, step, n, zero, sums, all) \
    ((step) == 1   ? mote_matmul_along_f32(a, b, line, n, sums) \
     : (line) == 1 ? mote_matmul_across_f32(a, b, step, n, sums) \
                   : 0)

#endif
