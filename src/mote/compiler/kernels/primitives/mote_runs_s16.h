/* mote_runs_s16.h: functions of runs of int16 numbers.
 *
 * Each computes all n of them and says so, or does nothing and gives 0: on a core for which there is nothing here, or for
 * parameters that it is not made for. `out` may be `in`. */
#ifndef MOTE_RUNS_S16_H
#define MOTE_RUNS_S16_H

#include "mote_common.h"
#include "mote_runs_s16_helium.h"

#ifndef mote_lut_run_s16
#define mote_lut_run_s16(ends, in, out, n) 0
#define mote_sigmoid_run_s16(table, mult, shift, round, in, out, n) 0
#define mote_sigmoid_tanh_run_s16(table, mult, shift, round, in, out, n) 0
#endif

#endif
