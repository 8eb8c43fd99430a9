/* mote_turns.h: a model in the main loop of a firmware without an operating system: requests wait in a queue, and every
 * turn of the loop does one step of the one that is served.
 *
 *     static mote_turns_t loop; // all zeros
 *     const mote_service_config_t config = {&kws_compiled, NULL, 0};
 *     if (mote_turns_start(&loop, &config, NULL) != MOTE_OK) report();
 *     for (;;) {
 *         feed_the_watchdog();
 *         if (mote_turns_step(&loop) == MOTE_OK) wait_for_an_interrupt();
 *     }
 *
 * and where the samples come, which may be one interrupt or the main loop itself:
 *
 *     static const mote_given_t inputs[] = {{samples, sizeof samples}};
 *     static const mote_taken_t outputs[] = {{scores, sizeof scores}};
 *     static const mote_request_t request = {inputs, outputs, 1, 1};
 *     if (mote_turns_post(&loop, &request, use_scores, NULL) == MOTE_SERVICE_FULL) count_a_loss();
 */
#ifndef MOTE_TURNS_H
#define MOTE_TURNS_H

#include "mote_request.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    mote_request_t request;
    mote_done_fn done;
    void *context;
} mote_job_t;

/* Its fields are the loop's own. It is all zeros before the first start. */
typedef struct {
    mote_serviced_t model;
    mote_job_t jobs[MOTE_SERVICE_SLOTS + 1];
    volatile uint8_t next, first; /* the place of the next job that comes; the first one that is not done */
    uint8_t started, running;
    mote_status status; /* of the step before */
    uint32_t at;        /* bytes of a pushed input that were taken */
} mote_turns_t;

/* Initializes the model; requests that wait are dropped. MOTE_BUSY from a callback. */
mote_status mote_turns_start(mote_turns_t *loop, const mote_service_config_t *config, mote_problem_t *problem);

/* Puts a request into the queue; `done` is called by a turn when it has ended, and may be NULL. Buffers, and what the
 * request names, are the loop's until then. From one context: one interrupt, or the main loop and callbacks. */
mote_served_t mote_turns_post(mote_turns_t *loop, const mote_request_t *request, mote_done_fn done, void *context);

/* Does one step. MOTE_BUSY: there is more to do; MOTE_OK: there is nothing to do. From the main loop only. */
mote_status mote_turns_step(mote_turns_t *loop);

#ifdef __cplusplus
}
#endif

#endif
