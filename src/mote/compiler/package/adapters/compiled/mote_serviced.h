/* mote_serviced.h: a compiled model, as mote_service.h and mote_turns.h run it. NAME_service.h has NAME_compiled of each.
 *
 *     const mote_service_config_t config = {&kws_compiled, NULL, PRIORITY};
 */
#ifndef MOTE_SERVICED_H
#define MOTE_SERVICED_H

#include <stddef.h>
#include <stdint.h>

@STATUS@
@STACK@
#ifdef __cplusplus
extern "C" {
#endif

/* Why a service does not start. */
typedef struct {
    const char *what, *name;
    uint32_t op;
} mote_problem_t;

/* The functions of a compiled model, and the sizes of its inputs and outputs. `instance`: of a model that was compiled
 * with --instances. */
typedef struct {
    mote_status (*init)(void *instance);
    mote_status (*step)(void *instance);
    mote_status (*push_row)(void *instance, const void *row); /* NULL where inputs are written whole */
    mote_status (*abandon)(void *instance);
    void *(*input)(void *instance, size_t i);
    const void *(*output)(void *instance, size_t i);
    const uint32_t *input_bytes, *output_bytes;
    uint32_t row_bytes; /* of an input that is pushed; else 0 */
    uint16_t inputs, outputs;
} mote_compiled_t;

typedef struct {
    const mote_compiled_t *compiled;
    void *instance; /* NULL for a model with static variables */
    int priority;   /* of the thread */
} mote_service_config_t;

typedef struct {
    const mote_compiled_t *compiled;
    void *instance;
} mote_serviced_t;

/* Initializes the model. */
static inline mote_status mote_serviced_start(mote_serviced_t *model, const mote_service_config_t *config,
                                              mote_problem_t *problem) {
    const mote_status status = config->compiled->init(config->instance);
    model->compiled = config->compiled;
    model->instance = config->instance;
    if (status != MOTE_OK && problem != NULL) {
        problem->what = "the model's init has failed";
        problem->name = "";
        problem->op = UINT32_MAX;
    }
    return status;
}

static inline size_t mote_serviced_inputs(const mote_serviced_t *model) { return model->compiled->inputs; }

static inline size_t mote_serviced_outputs(const mote_serviced_t *model) { return model->compiled->outputs; }

static inline uint32_t mote_serviced_input_bytes(const mote_serviced_t *model, size_t i) {
    return model->compiled->input_bytes[i];
}

static inline uint32_t mote_serviced_output_bytes(const mote_serviced_t *model, size_t i) {
    return model->compiled->output_bytes[i];
}

static inline uint32_t mote_serviced_row_bytes(const mote_serviced_t *model) { return model->compiled->row_bytes; }

static inline void *mote_serviced_input(mote_serviced_t *model, size_t i) {
    return model->compiled->input(model->instance, i);
}

static inline const void *mote_serviced_output(const mote_serviced_t *model, size_t i) {
    return model->compiled->output(model->instance, i);
}

static inline mote_status mote_serviced_step(mote_serviced_t *model) { return model->compiled->step(model->instance); }

static inline mote_status mote_serviced_push_row(mote_serviced_t *model, const void *row) {
    return model->compiled->push_row(model->instance, row);
}

/* Forgets an inference that has begun, with what the model remembers. */
static inline mote_status mote_serviced_abandon(mote_serviced_t *model) {
    return model->compiled->abandon(model->instance);
}

#ifdef __cplusplus
}
#endif

#endif
