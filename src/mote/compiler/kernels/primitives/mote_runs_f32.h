/* mote_runs_f32.h: functions of runs of float32 numbers.
 *
 * `mote_NAME_run_f32(in, out, n)` computes all n of them and says so, or does nothing and gives 0: on a core for which there
 * is nothing here. `out` may be `in`. */
#ifndef MOTE_RUNS_F32_H
#define MOTE_RUNS_F32_H

#include "mote_common.h"
#include "mote_runs_f32_helium.h"

#ifndef mote_exp_run_f32
#define mote_exp_run_f32(in, out, n) 0
#define mote_logistic_run_f32(in, out, n) 0
#define mote_tanh_run_f32(in, out, n) 0
#define mote_gelu_run_f32(in, out, n) 0
#define mote_gelu_tanh_run_f32(in, out, n) 0
#define mote_hard_swish_run_f32(in, out, n) 0
#define mote_clamp_run_f32(in, out, n, low, high) 0
#define mote_leaky_run_f32(in, out, n, alpha) 0
#endif

#endif
