/* mote_model.h: one model without an operating system, in memory that is set aside when the firmware is linked.
 *
 *     #include "mote_kernels.h"
 *     #include "mote_model.h"
 *
 *     mote_problem_t problem;
 *     if (mote_model_begin(&mote_kernels, image, image_bytes, &problem) != MOTE_OK) report(problem.what, problem.name);
 *     for (;;) {
 *         wait_for(samples);
 *         if (mote_model_run(samples, sizeof samples, scores, sizeof scores) == MOTE_OK) use(scores);
 *     }
 *
 * A main loop with other things to do takes the pieces instead: mote_input(&mote_model, 0), then mote_step(&mote_model)
 * while it is MOTE_BUSY, then mote_output(&mote_model, 0).
 */
#ifndef MOTE_MODEL_H
#define MOTE_MODEL_H

#include "mote_runtime.h"

#ifndef MOTE_ARENA_BYTES
#define MOTE_ARENA_BYTES 16384 /* arena and state as `mote pack` prints them, for the largest model that may come */
#endif

#ifdef __cplusplus
extern "C" {
#endif

extern mote_interpreter_t mote_model;

/* Compares the image's CRC-32, then loads it. MOTE_DAMAGED: it is not what was packed. MOTE_BAD_ARENA: MOTE_ARENA_BYTES
 * are too few, or the model was planned for several memories. Another image takes the place of the one before. */
mote_status mote_model_begin(const mote_kernels_t *kernels, const void *image, size_t bytes, mote_problem_t *problem);

/* One inference of a model with one input and one output, of just these sizes: else MOTE_UNSUPPORTED. */
mote_status mote_model_run(const void *input, size_t input_bytes, void *output, size_t output_bytes);

#ifdef __cplusplus
}
#endif

#endif
