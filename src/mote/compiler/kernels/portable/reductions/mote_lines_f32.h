/* mote_lines_f32.h: the kernels that lines of float32 tensors are computed with. */
#ifndef MOTE_LINES_F32_H
#define MOTE_LINES_F32_H

#include "mote_arithmetic_f32.h"
#include "mote_formula_f32.h"
#include "mote_functions_f32.h"
#include "mote_line_steps_f32.h"
#include "mote_lines.h"
#include "mote_mean_f32.h"
#include "mote_pairs_f32.h"
#include "mote_reduce.h"

#endif
