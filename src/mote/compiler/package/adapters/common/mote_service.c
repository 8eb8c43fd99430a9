/* mote_service.c: requests in slots, numbers of slots in the operating system's queue. What a slot holds is changed
 * only with the lock held. */
#include "mote_service.h"

#define STOP 0xffu /* in the queue: answer all, and rest */

enum { FREE, QUEUED, RUNNING, DONE, ABANDONED }; /* slots */
enum { RESTING, READY, STOPPING };              /* the service */

/* Read without the lock between steps, for a byte is read whole: at worst one step more is done. */
static int is_stopping(const mote_service_t *service) { return service->phase == STOPPING; }

static void release(mote_service_t *service, mote_slot_t *slot) {
    slot->state = FREE;
    mote_port_signal(&service->port, MOTE_PORT_ROOM);
}

/* With the lock held, which is given away while a callback runs. */
static void finish(mote_service_t *service, mote_slot_t *slot, mote_served_t served, mote_status status) {
    if (slot->done != NULL) {
        mote_port_unlock(&service->port);
        slot->done(slot->context, served, status);
        mote_port_lock(&service->port);
    }
    if (slot->state == ABANDONED || slot->done != NULL) {
        release(service, slot);
        return;
    }
    slot->served = (uint8_t)served;
    slot->status = status;
    slot->state = DONE;
    mote_port_signal(&service->port, MOTE_PORT_DONE + (unsigned)(slot - service->slots));
}

static void beat(const mote_service_t *service) {
    if (service->alive != NULL) service->alive(service->alive_context);
}

/* Steps until there is nothing left to do, or the service is to stop: then MOTE_BUSY. */
static mote_status finish_steps(mote_service_t *service) {
    mote_status status;
    do {
        status = mote_serviced_step(&service->model);
        beat(service);
    } while (status == MOTE_BUSY && !is_stopping(service));
    return status;
}

/* Hands the rows of a pushed input over, one by one. Nobody waits for the rest of an image whose rows were taken away. */
static mote_status push_rows(mote_service_t *service, mote_slot_t *slot) {
    const uint32_t row_bytes = mote_serviced_row_bytes(&service->model);
    mote_status status = MOTE_WAITING;
    uint32_t at = 0;
    while (!is_stopping(service)) {
        mote_port_lock(&service->port);
        if (slot->state == ABANDONED) {
            (void)mote_serviced_abandon(&service->model);
            mote_port_unlock(&service->port);
            return MOTE_NOT_READY;
        }
        if (at == slot->request.inputs[0].bytes) {
            mote_port_unlock(&service->port);
            return status;
        }
        status = mote_serviced_push_row(&service->model, (const uint8_t *)slot->request.inputs[0].data + at);
        mote_port_unlock(&service->port);
        at += row_bytes;
        beat(service);
        if (status == MOTE_BUSY) status = finish_steps(service);
        if (status != MOTE_OK && status != MOTE_WAITING) return status;
    }
    return MOTE_BUSY;
}

static void serve(mote_service_t *service, mote_slot_t *slot) {
    mote_status status;
    mote_port_lock(&service->port);
    if (slot->state == ABANDONED || is_stopping(service)) {
        finish(service, slot, MOTE_SERVICE_STOPPED, MOTE_NOT_READY);
        mote_port_unlock(&service->port);
        return;
    }
    slot->state = RUNNING;
    status = mote_request_begin(&service->model, &slot->request);
    mote_port_unlock(&service->port);

    if (status == MOTE_OK)
        status = mote_serviced_row_bytes(&service->model) != 0u ? push_rows(service, slot) : finish_steps(service);

    mote_port_lock(&service->port);
    if (status == MOTE_OK && slot->state == RUNNING) mote_request_end(&service->model, &slot->request);
    finish(service, slot, status == MOTE_BUSY ? MOTE_SERVICE_STOPPED : MOTE_SERVED, status);
    mote_port_unlock(&service->port);
}

void mote_service_serve(mote_service_t *service) {
    for (;;) {
        const uint8_t number = mote_port_get(&service->port);
        if (number == STOP) /* what was in the queue before is answered, and nothing comes after */
            mote_port_signal(&service->port, MOTE_PORT_STOPPED);
        else
            serve(service, &service->slots[number]);
    }
}

/* Whether nobody uses the model, nor waits for it. */
static int is_idle(mote_service_t *service) {
    int idle = service->phase == RESTING;
    unsigned i;
    for (i = 0; i < MOTE_SERVICE_SLOTS; i++) idle &= service->slots[i].state == FREE;
    return idle;
}

static mote_status refused(mote_problem_t *problem, mote_status status, const char *what) {
    if (problem != NULL) {
        problem->what = what;
        problem->name = "";
        problem->op = UINT32_MAX;
    }
    return status;
}

void mote_service_watch(mote_service_t *service, mote_alive_fn alive, void *context) {
    service->alive = alive;
    service->alive_context = context;
}

mote_status mote_service_start(mote_service_t *service, const mote_service_config_t *config, mote_problem_t *problem) {
    mote_status status;
    int idle;
    if (!service->opened) {
        if (!mote_port_open(&service->port, service, config->priority))
            return refused(problem, MOTE_NOT_READY, "no memory for threads and queues");
        service->opened = 1;
    }
    mote_port_lock(&service->port);
    idle = is_idle(service);
    mote_port_unlock(&service->port);
    if (!idle) return refused(problem, MOTE_BUSY, "it runs, or a result was not waited for");
    status = mote_serviced_start(&service->model, config, problem);
    if (status != MOTE_OK) return status;
    mote_port_lock(&service->port);
    service->phase = READY;
    mote_port_unlock(&service->port);
    return MOTE_OK;
}

static mote_served_t enqueue(mote_service_t *service, const mote_slot_t *wanted, uint32_t milliseconds,
                             uint8_t *ticket) {
    uint8_t number = 0;
    if (!service->opened) return MOTE_SERVICE_STOPPED;
    if (!mote_port_wait(&service->port, MOTE_PORT_ROOM, milliseconds)) return MOTE_SERVICE_FULL;
    mote_port_lock(&service->port);
    if (service->phase != READY) {
        mote_port_unlock(&service->port);
        mote_port_signal(&service->port, MOTE_PORT_ROOM);
        return MOTE_SERVICE_STOPPED;
    }
    while (service->slots[number].state != FREE) number++; /* the semaphore counts those that are free */
    service->slots[number] = *wanted;
    mote_port_put(&service->port, number);
    mote_port_unlock(&service->port);
    *ticket = number;
    return MOTE_SERVED;
}

mote_served_t mote_service_submit(mote_service_t *service, const mote_request_t *request, uint32_t milliseconds,
                                  uint8_t *ticket) {
    const mote_slot_t wanted = {*request, NULL, NULL, MOTE_BUSY, QUEUED, 0};
    return enqueue(service, &wanted, milliseconds, ticket);
}

static void ignore(void *context, mote_served_t served, mote_status status) {
    (void)context;
    (void)served;
    (void)status;
}

mote_served_t mote_service_post(mote_service_t *service, const mote_request_t *request, uint32_t milliseconds,
                                mote_done_fn done, void *context) {
    const mote_slot_t wanted = {*request, done != NULL ? done : ignore, context, MOTE_BUSY, QUEUED, 0};
    uint8_t ticket;
    return enqueue(service, &wanted, milliseconds, &ticket);
}

mote_served_t mote_service_wait(mote_service_t *service, uint8_t ticket, uint32_t milliseconds, mote_status *status) {
    mote_slot_t *slot = &service->slots[ticket];
    mote_served_t served;
    if (!mote_port_wait(&service->port, MOTE_PORT_DONE + ticket, milliseconds)) return MOTE_SERVICE_LATE;
    mote_port_lock(&service->port);
    served = (mote_served_t)slot->served;
    *status = slot->status;
    release(service, slot);
    mote_port_unlock(&service->port);
    return served;
}

mote_served_t mote_service_cancel(mote_service_t *service, uint8_t ticket, mote_status *status) {
    mote_slot_t *slot = &service->slots[ticket];
    mote_served_t served = MOTE_SERVICE_LATE;
    mote_port_lock(&service->port);
    if (slot->state == DONE) {
        (void)mote_port_wait(&service->port, MOTE_PORT_DONE + ticket, 0); /* it was signalled with the lock held */
        served = (mote_served_t)slot->served;
        *status = slot->status;
        release(service, slot);
    } else {
        slot->state = ABANDONED;
    }
    mote_port_unlock(&service->port);
    return served;
}

mote_served_t mote_service_run(mote_service_t *service, const mote_request_t *request, uint32_t milliseconds,
                               mote_status *status) {
    uint8_t ticket;
    mote_served_t served = mote_service_submit(service, request, milliseconds, &ticket);
    if (served != MOTE_SERVED) return served;
    served = mote_service_wait(service, ticket, milliseconds, status);
    return served == MOTE_SERVICE_LATE ? mote_service_cancel(service, ticket, status) : served;
}

mote_served_t mote_service_stop(mote_service_t *service, uint32_t milliseconds) {
    int resting;
    if (!service->opened) return MOTE_SERVED;
    mote_port_lock(&service->port);
    resting = service->phase == RESTING;
    if (service->phase == READY) {
        service->phase = STOPPING;
        mote_port_put(&service->port, STOP);
    }
    mote_port_unlock(&service->port);
    if (resting) return MOTE_SERVED;
    if (!mote_port_wait(&service->port, MOTE_PORT_STOPPED, milliseconds)) return MOTE_SERVICE_LATE;
    mote_port_lock(&service->port);
    service->phase = RESTING;
    mote_port_unlock(&service->port);
    return MOTE_SERVED;
}
