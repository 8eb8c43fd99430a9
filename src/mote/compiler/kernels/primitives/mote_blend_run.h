/* mote_blend_run.h: runs of channels between four pixels, for bilinear interpolation.
 *
 * `mote_blend_run_s8` and `mote_blend_run_f32` blend n channels of pixels at a and at b, `right` elements on from each, and
 * say so, or do nothing and give 0: on a core for which there is nothing here. `w` is the share of the right pixels,
 * `weight` that of those at b, of `one`. */
#ifndef MOTE_BLEND_RUN_H
#define MOTE_BLEND_RUN_H

#include "mote_common.h"
#include "mote_blend_run_helium.h"

#ifndef mote_blend_run_s8
#define mote_blend_run_s8(a, b, right, w, weight, out, n) 0
#endif
#ifndef mote_blend_run_f32
#define mote_blend_run_f32(a, b, right, w, weight, out, n) 0
#endif
#define mote_blend_run_s16(a, b, right, w, weight, out, n) 0

#endif
