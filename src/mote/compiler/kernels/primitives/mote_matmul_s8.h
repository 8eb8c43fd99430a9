/* mote_matmul_s8.h: int8 products of a row with four columns at once, for mote_batch_matmul.h.
 *
 * mote_matmul_run_s8 has no portable form: it adds up as many products as it can of a row, less `zero`, with four columns that
 * lie `line` elements behind one another, and gives their number; `all` is the sum of what was read of the row. */
#ifndef MOTE_MATMUL_S8_H
#define MOTE_MATMUL_S8_H

#include "mote_common.h"
#include "mote_matmul_s8_dsp.h"

#endif
