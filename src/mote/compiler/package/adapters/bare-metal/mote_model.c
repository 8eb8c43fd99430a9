/* mote_model.c: one model in static memory. */
#include "mote_model.h"

#include <string.h>

mote_interpreter_t mote_model;

static uint64_t mote_arena[(MOTE_ARENA_BYTES + 7) / 8];

mote_status mote_model_begin(const mote_kernels_t *kernels, const void *image, size_t bytes, mote_problem_t *problem) {
    const mote_memory_t memory = {{mote_arena, NULL, NULL, NULL}, {sizeof mote_arena, 0, 0, 0}, NULL, 0};
    const mote_status status = mote_image_crc(image, bytes);
    memset(&mote_model, 0, sizeof mote_model);
    if (status == MOTE_OK) return mote_init(&mote_model, kernels, image, bytes, &memory, problem);
    if (problem != NULL) {
        problem->what = mote_status_text(status);
        problem->name = "";
        problem->op = UINT32_MAX;
    }
    return status;
}

mote_status mote_model_run(const void *input, size_t input_bytes, void *output, size_t output_bytes) {
    mote_tensor_t from, to;
    mote_status status = mote_input_info(&mote_model, 0, &from);
    if (status == MOTE_OK) status = mote_output_info(&mote_model, 0, &to);
    if (status != MOTE_OK) return status;
    if (mote_input_count(&mote_model) != 1u || mote_output_count(&mote_model) != 1u || input_bytes != from.bytes ||
        output_bytes != to.bytes || mote_input(&mote_model, 0) == NULL)
        return MOTE_UNSUPPORTED;
    memcpy(mote_input(&mote_model, 0), input, input_bytes);
    status = mote_invoke(&mote_model);
    if (status == MOTE_OK) memcpy(output, mote_output(&mote_model, 0), output_bytes);
    return status;
}
