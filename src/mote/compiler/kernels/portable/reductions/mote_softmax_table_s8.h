/* mote_softmax_table_s8.h: int8 softmax as mote_softmax_s8.h computes it, with the exponentials in a table: for large
 * tensors, such as attention matrices. */
#ifndef MOTE_SOFTMAX_TABLE_S8_H
#define MOTE_SOFTMAX_TABLE_S8_H

#include "mote_softmax_run_s8.h"
#include "mote_softmax_s8.h"

typedef struct {
    int32_t depth;      /* classes */
    const int32_t *exp; /* of minus 0..255 steps of the input, over 2^31 */
} mote_softmax_table_s8_t;

static inline void mote_softmax_table_s8(const mote_softmax_table_s8_t *p, const int8_t *in, int8_t *out,
                                         int32_t vectors) {
    const int32_t depth = p->depth;
    for (; vectors > 0; vectors--, in += depth, out += depth) {
        const int32_t max = mote_line_max(in, depth);
        uint32_t sum = mote_softmax_sum(p->exp, max, in, depth); /* 19 bits after the point */
        int32_t shift = 34;
        sum = sum < (uint32_t)1 << 19 ? (uint32_t)1 << 19 : sum; /* it is not: the largest input alone adds 2^19 */
#ifdef mote_leading_zeros
        shift -= mote_leading_zeros(sum);
        sum <<= mote_leading_zeros(sum);
#else
        for (int32_t by = 8; by > 0; by /= 2) { /* up to 2^31: by 12 places at most */
            if (sum < (uint32_t)1 << (32 - by)) {
                sum <<= by;
                shift -= by;
            }
        }
#endif
        mote_softmax_shares(p->exp, max, in, depth, mote_softmax_reciprocal(sum), mote_min(shift, 31), out);
    }
}

#endif
