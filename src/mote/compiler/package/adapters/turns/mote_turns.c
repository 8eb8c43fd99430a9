/* mote_turns.c: a ring of requests with one writer and one reader. */
#include "mote_turns.h"

/* A job is written before it is counted, and read after that. */
#if defined(__GNUC__)
#define FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#else
#define FENCE() ((void)0) /* volatile accesses are in order; another compiler must not move the others past them */
#endif

static uint8_t after(uint8_t place) { return (uint8_t)((place + 1u) % (MOTE_SERVICE_SLOTS + 1u)); }

mote_status mote_turns_start(mote_turns_t *loop, const mote_service_config_t *config, mote_problem_t *problem) {
    mote_status status;
    if (loop->running) return MOTE_BUSY;
    loop->started = 0;
    loop->first = loop->next;
    status = mote_serviced_start(&loop->model, config, problem);
    loop->started = status == MOTE_OK;
    return status;
}

mote_served_t mote_turns_post(mote_turns_t *loop, const mote_request_t *request, mote_done_fn done, void *context) {
    const uint8_t place = loop->next;
    if (!loop->started) return MOTE_SERVICE_STOPPED;
    if (after(place) == loop->first) return MOTE_SERVICE_FULL;
    loop->jobs[place].request = *request;
    loop->jobs[place].done = done;
    loop->jobs[place].context = context;
    FENCE();
    loop->next = after(place);
    return MOTE_SERVED;
}

/* One step of a job: MOTE_BUSY while it is not done. */
static mote_status advance(mote_turns_t *loop, const mote_job_t *job) {
    const uint32_t row = mote_serviced_row_bytes(&loop->model);
    if (row == 0u) return mote_serviced_step(&loop->model);
    if (loop->status == MOTE_WAITING || loop->status == MOTE_OK) {
        if (loop->at == job->request.inputs[0].bytes) return loop->status;
        loop->at += row;
        loop->status = mote_serviced_push_row(&loop->model, (const uint8_t *)job->request.inputs[0].data + loop->at - row);
    } else {
        loop->status = mote_serviced_step(&loop->model);
    }
    if (loop->status != MOTE_WAITING && loop->status != MOTE_OK) return loop->status;
    return loop->at == job->request.inputs[0].bytes ? loop->status : MOTE_BUSY;
}

mote_status mote_turns_step(mote_turns_t *loop) {
    const mote_job_t *job = &loop->jobs[loop->first];
    mote_status status = MOTE_OK;
    if (!loop->started) return MOTE_NOT_READY;
    if (loop->first == loop->next) return MOTE_OK;
    FENCE();
    if (!loop->running) {
        loop->running = 1;
        loop->at = 0;
        loop->status = MOTE_WAITING;
        status = mote_request_begin(&loop->model, &job->request);
    }
    if (status == MOTE_OK) status = advance(loop, job);
    if (status == MOTE_BUSY) return MOTE_BUSY;
    if (status == MOTE_OK) mote_request_end(&loop->model, &job->request);
    if (job->done != NULL) job->done(job->context, MOTE_SERVED, status);
    loop->running = 0;
    FENCE();
    loop->first = after(loop->first);
    return loop->first == loop->next ? MOTE_OK : MOTE_BUSY;
}
