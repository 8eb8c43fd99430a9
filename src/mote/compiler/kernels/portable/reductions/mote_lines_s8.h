/* mote_lines_s8.h: the kernels that lines of int8 tensors are computed with. */
#ifndef MOTE_LINES_S8_H
#define MOTE_LINES_S8_H

#include "mote_add_exact_s8.h"
#include "mote_add_s8.h"
#include "mote_divide.h"
#include "mote_line_steps_s8.h"
#include "mote_lines.h"
#include "mote_lut_s8.h"
#include "mote_mean_lines_s8.h"
#include "mote_mul_s8.h"
#include "mote_quantized.h"

#endif
