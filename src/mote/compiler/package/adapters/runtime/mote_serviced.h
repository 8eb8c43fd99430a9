/* mote_serviced.h: an image in the runtime, as mote_service.h runs it.
 *
 *     const mote_service_config_t config = {&mote_kernels, image, image_bytes, {{arena}, {sizeof arena}, NULL, 0}, 2};
 */
#ifndef MOTE_SERVICED_H
#define MOTE_SERVICED_H

#include "mote_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const mote_kernels_t *kernels;
    const void *image;
    size_t image_bytes;
    mote_memory_t memory;
    int priority; /* of the thread */
} mote_service_config_t;

typedef mote_interpreter_t mote_serviced_t;

/* Compares the image's CRC-32 and loads it. */
static inline mote_status mote_serviced_start(mote_serviced_t *model, const mote_service_config_t *config,
                                              mote_problem_t *problem) {
    const mote_status status = mote_image_crc(config->image, config->image_bytes);
    if (status == MOTE_OK)
        return mote_init(model, config->kernels, config->image, config->image_bytes, &config->memory, problem);
    if (problem != NULL) {
        problem->what = mote_status_text(status);
        problem->name = "";
        problem->op = UINT32_MAX;
    }
    return status;
}

static inline size_t mote_serviced_inputs(const mote_serviced_t *model) { return mote_input_count(model); }

static inline size_t mote_serviced_outputs(const mote_serviced_t *model) { return mote_output_count(model); }

static inline uint32_t mote_serviced_input_bytes(const mote_serviced_t *model, size_t i) {
    mote_tensor_t info;
    return mote_input_info(model, i, &info) == MOTE_OK ? info.bytes : 0u;
}

static inline uint32_t mote_serviced_output_bytes(const mote_serviced_t *model, size_t i) {
    mote_tensor_t info;
    return mote_output_info(model, i, &info) == MOTE_OK ? info.bytes : 0u;
}

/* The bytes of a row of an input that is pushed; 0: inputs are written whole. */
static inline uint32_t mote_serviced_row_bytes(const mote_serviced_t *model) {
    mote_tensor_t info;
    return mote_input(model, 0) == NULL && mote_input_info(model, 0, &info) == MOTE_OK ? info.row_bytes : 0u;
}

static inline void *mote_serviced_input(mote_serviced_t *model, size_t i) { return mote_input(model, i); }

static inline const void *mote_serviced_output(const mote_serviced_t *model, size_t i) { return mote_output(model, i); }

static inline mote_status mote_serviced_step(mote_serviced_t *model) { return mote_step(model); }

static inline mote_status mote_serviced_push_row(mote_serviced_t *model, const void *row) {
    return mote_push_row(model, row);
}

/* Forgets an inference that has begun, with what the model remembers. */
static inline mote_status mote_serviced_abandon(mote_serviced_t *model) { return mote_reset(model); }

#ifdef __cplusplus
}
#endif

#endif
