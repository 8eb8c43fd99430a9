/* The model of the harness as the one of the agent: what the glue of the harness implements is called by the agent. */
#include "harness.h"
#include "mote_agent.h"

static const uint8_t model_id[MOTE_AGENT_ID_BYTES] = {MOTE_MODEL_ID};
static const uint8_t no_runtime[MOTE_AGENT_ID_BYTES] = {0};

static uint32_t inputs(void) { return harness_input_count; }

static uint32_t outputs(void) { return harness_output_count; }

static uint32_t steps(void) { return harness_step_count; }

static void *input(uint32_t i, uint32_t *bytes)
{
    *bytes = i < harness_input_count ? (uint32_t)harness_input_bytes(i) : 0;
    return i < harness_input_count ? harness_input(i) : NULL;
}

static const void *output(uint32_t i, uint32_t *bytes)
{
    *bytes = i < harness_output_count ? (uint32_t)harness_output_bytes(i) : 0;
    return i < harness_output_count ? harness_output(i) : NULL;
}

const mote_model_t mote_model = {
    model_id, no_runtime, inputs, outputs, steps, input, output, harness_init, harness_run, NULL,
};

/* Glue that calls the harness between steps: that of images. */
void mote_trace(unsigned step, const void *data, size_t bytes) { mote_agent_step(step, data, bytes); }
