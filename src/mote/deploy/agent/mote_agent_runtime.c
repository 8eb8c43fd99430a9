/* mote_agent_runtime.c: the model of the agent is an image that the runtime runs. */
#include "mote_agent_runtime.h"

#include "mote_agent.h"
#include "mote_interpreter.h"

#ifndef MOTE_AGENT_RUNTIME_ID
#define MOTE_AGENT_RUNTIME_ID 0
#endif
#define AT_ID 8u /* in an image: its length, its CRC-32 and its version */

extern const mote_kernels_t mote_kernels; /* in the file of its name that `mote runtime` writes */

static mote_interpreter_t it;
static uint8_t image_id[MOTE_AGENT_ID_BYTES];
static const uint8_t runtime_id[MOTE_AGENT_ID_BYTES] = {MOTE_AGENT_RUNTIME_ID};

static uint32_t inputs(void) { return (uint32_t)mote_input_count(&it); }

static uint32_t outputs(void) { return (uint32_t)mote_output_count(&it); }

static uint32_t steps(void) { return it.position == 0 ? 0 : mote_header(&it)->sections[MOTE_SECTION_OPS].count; }

static void *input(uint32_t index, uint32_t *bytes) {
    mote_tensor_t tensor;
    *bytes = mote_input_info(&it, (size_t)index, &tensor) == MOTE_OK ? tensor.bytes : 0;
    return mote_input(&it, (size_t)index);
}

static const void *output(uint32_t index, uint32_t *bytes) {
    mote_tensor_t tensor;
    *bytes = mote_output_info(&it, (size_t)index, &tensor) == MOTE_OK ? tensor.bytes : 0;
    return mote_output(&it, (size_t)index);
}

static int init(void) { return (int)mote_reset(&it); }

/* A stream that warms up has run as well. */
static int run(void) {
    const mote_status status = mote_invoke(&it);
    return status == MOTE_WAITING ? 0 : (int)status;
}

/* The host writes inputs as a whole: an image whose input comes by rows has no place for them. */
int mote_agent_open(const void *image, uint32_t bytes) {
    mote_status status = mote_init(&it, &mote_kernels, image, (size_t)bytes, mote_agent_memory(), NULL);
    if (status == MOTE_OK && inputs() != 0 && mote_input(&it, 0) == NULL) {
        memset(&it, 0, sizeof it);
        status = MOTE_UNSUPPORTED;
    }
    memset(image_id, 0, sizeof image_id);
    if (status == MOTE_OK) memcpy(image_id, (const uint8_t *)image + AT_ID, sizeof image_id);
    return (int)status;
}

static int load(const void *image, uint32_t bytes) {
    const mote_update_settings_t *const trust = mote_agent_trust();
    memset(&it, 0, sizeof it); /* what was open lies where the new one was written */
    memset(image_id, 0, sizeof image_id);
    if (mote_update_examine(trust, trust->least_version, image, bytes) != MOTE_UPDATE_OK) return MOTE_BAD_IMAGE;
    return mote_agent_open(image, bytes);
}

const mote_model_t mote_model = {
    image_id, runtime_id, inputs, outputs, steps, input, output, init, run, load,
};
