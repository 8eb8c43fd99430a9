/* mote_request.h: an inference that somebody asks for: buffers of the caller's, and what became of it. */
#ifndef MOTE_REQUEST_H
#define MOTE_REQUEST_H

#include "mote_serviced.h" /* mote_serviced_t: a model in the runtime, or a compiled one */

#include <string.h>

#ifndef MOTE_SERVICE_SLOTS
#define MOTE_SERVICE_SLOTS 4 /* requests that wait or are served at the same time */
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What became of a request. */
typedef enum {
    MOTE_SERVED = 0,       /* the status says how the inference ended */
    MOTE_SERVICE_FULL = 1, /* there was no place in the queue in time */
    MOTE_SERVICE_LATE = 2, /* there was no result in time */
    MOTE_SERVICE_STOPPED = 3
} mote_served_t;

typedef struct {
    const void *data;
    uint32_t bytes;
} mote_given_t;

typedef struct {
    void *data;
    uint32_t bytes;
} mote_taken_t;

/* A buffer for each input and each output, in the model's order. Sizes are those of the model, else the status is
 * MOTE_UNSUPPORTED; the input of a model that takes it by rows is any number of whole rows. */
typedef struct {
    const mote_given_t *inputs;
    const mote_taken_t *outputs;
    uint16_t input_count, output_count;
} mote_request_t;

/* A callback: the request that was posted with this context has ended. */
typedef void (*mote_done_fn)(void *context, mote_served_t served, mote_status status);

/* Whether all buffers have the sizes of the model's inputs and outputs; inputs are copied, but for one that is pushed. */
static inline mote_status mote_request_begin(mote_serviced_t *model, const mote_request_t *request) {
    const uint32_t row = mote_serviced_row_bytes(model);
    size_t i;
    if (request->input_count != mote_serviced_inputs(model) || request->output_count != mote_serviced_outputs(model))
        return MOTE_UNSUPPORTED;
    for (i = 0; i < request->output_count; i++)
        if (request->outputs[i].bytes != mote_serviced_output_bytes(model, i)) return MOTE_UNSUPPORTED;
    for (i = 0; i < request->input_count; i++) {
        const mote_given_t *from = &request->inputs[i];
        void *to = row != 0u ? NULL : mote_serviced_input(model, i);
        if (row != 0u ? from->bytes % row != 0u : to == NULL || from->bytes != mote_serviced_input_bytes(model, i))
            return MOTE_UNSUPPORTED;
        if (to != NULL) memcpy(to, from->data, from->bytes);
    }
    return MOTE_OK;
}

/* Copies the outputs. */
static inline void mote_request_end(const mote_serviced_t *model, const mote_request_t *request) {
    size_t i;
    for (i = 0; i < request->output_count; i++)
        memcpy(request->outputs[i].data, mote_serviced_output(model, i), request->outputs[i].bytes);
}

#ifdef __cplusplus
}
#endif

#endif
