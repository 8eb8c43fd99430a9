/* mote_service.h: a model in a thread of its own. Threads hand it requests through a queue, and wait for the results.
 *
 *     static mote_service_t service; // all zeros
 *     mote_problem_t problem;
 *     if (mote_service_start(&service, &config, &problem) != MOTE_OK) report(problem.what, problem.name);
 *
 *     const mote_given_t inputs[] = {{samples, sizeof samples}};
 *     const mote_taken_t outputs[] = {{scores, sizeof scores}};
 *     const mote_request_t request = {inputs, outputs, 1, 1};
 *     mote_status status;
 *     if (mote_service_run(&service, &request, 100, &status) == MOTE_SERVED && status == MOTE_OK) use(scores);
 *
 * mote_serviced.h has the configuration.
 *
 * Requests are served one after another, in the order in which they come. Any thread may hand over requests, at any time;
 * none of the functions may be called from an interrupt. Times are in milliseconds; MOTE_FOREVER waits as long as it
 * takes. Buffers are the caller's: they are read when the inference begins and written when it has ended, and never
 * after mote_service_wait or mote_service_cancel has returned, whether the result came in time or not.
 *
 * The thread runs at the priority that the configuration names, in the numbers of the operating system: above the
 * background, below everything that must answer while an inference takes its time. Its stack has
 * MOTE_SERVICE_STACK_BYTES: what `mote run` prints as stack, and about 256 bytes for the service and the queue.
 */
#ifndef MOTE_SERVICE_H
#define MOTE_SERVICE_H

#include "mote_request.h"

#ifndef MOTE_SERVICE_STACK_BYTES
#define MOTE_SERVICE_STACK_BYTES 4096
#endif

#define MOTE_FOREVER UINT32_MAX

/* The semaphores of a port: places in the queue that are free, that the service rests, and that slot i is done. */
enum { MOTE_PORT_ROOM, MOTE_PORT_STOPPED, MOTE_PORT_DONE, MOTE_PORT_SEMAPHORES = MOTE_PORT_DONE + MOTE_SERVICE_SLOTS };

struct mote_service;

#include "mote_port.h" /* mote_port_t: the objects of the operating system */

#ifdef __cplusplus
extern "C" {
#endif

/* A hook: called by the service's thread between the steps of an inference. */
typedef void (*mote_alive_fn)(void *context);

typedef struct {
    mote_request_t request;
    mote_done_fn done; /* of a request that was posted */
    void *context;
    mote_status status;
    uint8_t state, served;
} mote_slot_t;

/* Its fields are the service's own. It is all zeros before the first start. */
typedef struct mote_service {
    mote_serviced_t model;
    mote_port_t port;
    mote_alive_fn alive;
    void *alive_context;
    mote_slot_t slots[MOTE_SERVICE_SLOTS];
    volatile uint8_t phase;
    uint8_t opened;
} mote_service_t;

/* Checks and loads the model and lets the thread run, which is made the first time. Of a service that runs, or of which
 * a request was not waited for: MOTE_BUSY. MOTE_NOT_READY: the operating system has no memory. */
mote_status mote_service_start(mote_service_t *service, const mote_service_config_t *config, mote_problem_t *problem);

/* Names a function that feeds a watchdog, or lets other threads of the same priority run: called after each step of an
 * inference. Before the start, or of a service that rests; NULL: none. */
void mote_service_watch(mote_service_t *service, mote_alive_fn alive, void *context);

/* Hands over a request, waits for a place in the queue if need be, and gives a ticket for it (MOTE_SERVED). */
mote_served_t mote_service_submit(mote_service_t *service, const mote_request_t *request, uint32_t milliseconds,
                                  uint8_t *ticket);

/* Waits for the result. After MOTE_SERVICE_LATE the ticket is still good; after anything else it is spent. */
mote_served_t mote_service_wait(mote_service_t *service, uint8_t ticket, uint32_t milliseconds, mote_status *status);

/* Gives a ticket back: MOTE_SERVICE_LATE, and no buffer is touched any more. An inference that has begun goes on, as it
 * may have changed what the model remembers, but nobody is told of it. Where the result has just come, it is given as
 * mote_service_wait gives it. A model that takes rows may finish the step that takes one first. */
mote_served_t mote_service_cancel(mote_service_t *service, uint8_t ticket, mote_status *status);

/* All three: hands over, waits, and gives back if it is late. The time is for the queue and for the result each. */
mote_served_t mote_service_run(mote_service_t *service, const mote_request_t *request, uint32_t milliseconds,
                               mote_status *status);

/* Hands over a request that nobody waits for: when it has ended, the service's thread calls `done`, which may put the
 * result into a queue of the firmware's or post the next request (with a time of 0). What the request names, and its
 * buffers, are the service's until then. It cannot be cancelled, but mote_service_stop ends it. */
mote_served_t mote_service_post(mote_service_t *service, const mote_request_t *request, uint32_t milliseconds,
                                mote_done_fn done, void *context);

/* Ends the inference after its current step, and answers all that wait with MOTE_SERVICE_STOPPED. Once it has returned
 * MOTE_SERVED the image and its memory are not used any more: the place of another one, say, after an update. The thread
 * stays for the next start. MOTE_SERVICE_LATE: it is not there yet, call it again. For one thread at a time. */
mote_served_t mote_service_stop(mote_service_t *service, uint32_t milliseconds);

/* What the thread does, forever: called by the port. */
void mote_service_serve(mote_service_t *service);

/* What an operating system is asked for: mote_port.c of its adapter.
 *
 * Makes a mutex, MOTE_PORT_SEMAPHORES semaphores (those of MOTE_PORT_ROOM with MOTE_SERVICE_SLOTS at the beginning, the
 * others with 0), a queue for MOTE_SERVICE_SLOTS + 1 bytes, and a thread that calls mote_service_serve; 0 where it
 * cannot. */
int mote_port_open(mote_port_t *port, struct mote_service *service, int priority);
void mote_port_lock(mote_port_t *port);
void mote_port_unlock(mote_port_t *port);
int mote_port_wait(mote_port_t *port, unsigned semaphore, uint32_t milliseconds); /* 0: not in time */
void mote_port_signal(mote_port_t *port, unsigned semaphore);
void mote_port_put(mote_port_t *port, uint8_t number); /* there always is room */
uint8_t mote_port_get(mote_port_t *port);              /* waits for it */

#ifdef __cplusplus
}
#endif

#endif
