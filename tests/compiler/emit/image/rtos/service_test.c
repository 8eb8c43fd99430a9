/* service_test.c: a model in a thread, used well and badly: results, sizes, order, many callers, time-outs, a full queue,
 * cancelling, stopping and starting again, pushed rows. Buffers come from malloc and are freed as soon as they may be. */
#include "fake_runtime.h"
#include "mote_service.h"
#include "test_threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRIORITY 16
#define EXPECT(what)                                                          \
    do {                                                                      \
        if (!(what)) {                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

static mote_service_t service;
static uint64_t arena[8];

static mote_status start(uint8_t kind, uint8_t number, mote_problem_t *problem) {
    static uint8_t image[2];
    const mote_service_config_t config = {NULL, image, 2, {{arena}, {sizeof arena}, NULL, 0}, PRIORITY};
    image[0] = kind;
    image[1] = number;
    return mote_service_start(&service, &config, problem);
}

/* A request with buffers of its own. */
typedef struct {
    mote_given_t input;
    mote_taken_t output;
    mote_request_t request;
    uint8_t ticket;
    mote_status status;
} job_t;

static job_t *job_make(uint8_t first, uint32_t bytes) {
    job_t *job = calloc(1, sizeof *job);
    uint8_t *data = malloc(bytes);
    EXPECT(job != NULL && data != NULL);
    for (uint32_t i = 0; i < bytes; i++) data[i] = (uint8_t)(first + i);
    job->input = (mote_given_t){data, bytes};
    job->output = (mote_taken_t){malloc(8), 8};
    memset(job->output.data, 0xaa, 8);
    job->request = (mote_request_t){&job->input, &job->output, 1, 1};
    job->status = MOTE_WRONG;
    return job;
}

static int job_is_right(const job_t *job, uint8_t first, uint8_t number) {
    int right = job->status == MOTE_OK;
    for (unsigned i = 0; i < 8; i++) right &= ((uint8_t *)job->output.data)[i] == (uint8_t)(first + i + number);
    return right;
}

static int job_is_untouched(const job_t *job) {
    int same = 1;
    for (unsigned i = 0; i < 8; i++) same &= ((uint8_t *)job->output.data)[i] == 0xaa;
    return same;
}

static void job_free(job_t *job) {
    memset(job->output.data, 0x55, 8);
    free((void *)(uintptr_t)job->input.data);
    free(job->output.data);
    memset(job, 0x55, sizeof *job);
    free(job);
}

static mote_served_t run(job_t *job, uint32_t milliseconds) {
    return mote_service_run(&service, &job->request, milliseconds, &job->status);
}

static mote_served_t submit(job_t *job, uint32_t milliseconds) {
    return mote_service_submit(&service, &job->request, milliseconds, &job->ticket);
}

static mote_served_t wait_for(job_t *job, uint32_t milliseconds) {
    return mote_service_wait(&service, job->ticket, milliseconds, &job->status);
}

/* From now on no step ends; the first one has begun. */
static void hold(job_t *job) {
    const long begun = fake_begun;
    fake_held = 1;
    EXPECT(submit(job, 0) == MOTE_SERVED);
    while (fake_begun == begun) test_sleep(1);
}

static void before_the_start(void) {
    mote_problem_t problem = {NULL, NULL, 0};
    job_t *job = job_make(1, 8);
    EXPECT(run(job, 0) == MOTE_SERVICE_STOPPED);
    EXPECT(mote_service_stop(&service, 0) == MOTE_SERVED);
    EXPECT(start(2, 0, &problem) == MOTE_DAMAGED && strcmp(problem.what, "damaged") == 0);
    EXPECT(start(3, 0, &problem) == MOTE_NO_KERNEL && strcmp(problem.name, "fake") == 0 && problem.op == 7);
    EXPECT(run(job, 0) == MOTE_SERVICE_STOPPED);
    EXPECT(job_is_untouched(job));
    job_free(job);
}

static void results_and_sizes(void) {
    mote_problem_t problem = {NULL, NULL, 0};
    EXPECT(start(0, 5, &problem) == MOTE_OK);
    EXPECT(start(0, 5, &problem) == MOTE_BUSY);
    for (uint8_t i = 0; i < 10; i++) {
        job_t *job = job_make(i, 8);
        EXPECT(run(job, MOTE_FOREVER) == MOTE_SERVED && job_is_right(job, i, 5));
        job_free(job);
    }
    for (int wrong = 0; wrong < 4; wrong++) {
        job_t *job = job_make(0, wrong == 0 ? 7 : 8);
        if (wrong == 1) job->output.bytes = 9;
        if (wrong == 2) job->request.input_count = 0;
        if (wrong == 3) job->request.output_count = 2;
        EXPECT(run(job, MOTE_FOREVER) == MOTE_SERVED && job->status == MOTE_UNSUPPORTED && job_is_untouched(job));
        job_free(job);
    }
}

static void order_and_a_full_queue(void) {
    job_t *jobs[MOTE_SERVICE_SLOTS], *more = job_make(99, 8);
    for (uint8_t i = 0; i < MOTE_SERVICE_SLOTS; i++) jobs[i] = job_make(i, 8);
    hold(jobs[0]);
    for (uint8_t i = 1; i < MOTE_SERVICE_SLOTS; i++) EXPECT(submit(jobs[i], 0) == MOTE_SERVED);
    EXPECT(submit(more, 0) == MOTE_SERVICE_FULL && submit(more, 4) == MOTE_SERVICE_FULL);
    EXPECT(wait_for(jobs[0], 0) == MOTE_SERVICE_LATE);
    EXPECT(wait_for(jobs[MOTE_SERVICE_SLOTS - 1], 4) == MOTE_SERVICE_LATE);
    fake_held = 0;
    EXPECT(wait_for(jobs[MOTE_SERVICE_SLOTS - 1], MOTE_FOREVER) == MOTE_SERVED); /* all before it are done */
    EXPECT(submit(more, MOTE_FOREVER) == MOTE_SERVED);
    for (uint8_t i = 0; i < MOTE_SERVICE_SLOTS - 1; i++) EXPECT(wait_for(jobs[i], 0) == MOTE_SERVED);
    for (uint8_t i = 0; i < MOTE_SERVICE_SLOTS; i++) {
        EXPECT(job_is_right(jobs[i], i, 5));
        job_free(jobs[i]);
    }
    EXPECT(wait_for(more, MOTE_FOREVER) == MOTE_SERVED && job_is_right(more, 99, 5));
    job_free(more);
}

/* Late while it runs, late while it waits, given back when it is done: buffers are gone at once, and slots come back. */
static void time_outs(void) {
    job_t *runs = job_make(1, 8), *waits = job_make(2, 8), *is_done = job_make(3, 8), *last = job_make(4, 8);
    hold(runs);
    EXPECT(submit(waits, 0) == MOTE_SERVED);
    EXPECT(run(is_done, 4) == MOTE_SERVICE_LATE && job_is_untouched(is_done));
    EXPECT(mote_service_cancel(&service, runs->ticket, &runs->status) == MOTE_SERVICE_LATE);
    EXPECT(mote_service_cancel(&service, waits->ticket, &waits->status) == MOTE_SERVICE_LATE);
    job_free(runs);
    job_free(waits);
    job_free(is_done);
    fake_held = 0;
    for (int i = 0; i < 3 * MOTE_SERVICE_SLOTS; i++) {
        is_done = job_make(3, 8);
        EXPECT(submit(is_done, 600000) == MOTE_SERVED);
        test_sleep(i % 3);
        if (mote_service_cancel(&service, is_done->ticket, &is_done->status) == MOTE_SERVED)
            EXPECT(job_is_right(is_done, 3, 5)); /* else it is about to be done */
        job_free(is_done);
    }
    EXPECT(run(last, 600000) == MOTE_SERVED && job_is_right(last, 4, 5));
    job_free(last);
}

#define CALLERS 4
#define CALLS 60

static void caller(void *argument) {
    const uint8_t mine = *(uint8_t *)argument;
    for (uint8_t i = 0; i < CALLS; i++) {
        job_t *job = job_make((uint8_t)(mine + i), 8);
        const mote_served_t served = run(job, i % 8 == 7 ? 0 : MOTE_FOREVER);
        EXPECT(served == MOTE_SERVED ? job_is_right(job, (uint8_t)(mine + i), 5) : job_is_untouched(job));
        EXPECT(served == MOTE_SERVED || i % 8 == 7);
        job_free(job);
    }
}

static void many_callers(void) {
    static uint8_t first[CALLERS];
    for (uint8_t i = 0; i < CALLERS; i++) {
        first[i] = (uint8_t)(60 * i);
        test_begin(i, caller, &first[i]);
    }
    for (uint8_t i = 0; i < CALLERS; i++) test_end(i);
}

/* Stopped in the middle of one inference, with others behind it; then another image takes its place. */
static void stopping(void) {
    mote_problem_t problem = {NULL, NULL, 0};
    job_t *jobs[3];
    for (uint8_t i = 0; i < 3; i++) jobs[i] = job_make(i, 8);
    hold(jobs[0]);
    for (uint8_t i = 1; i < 3; i++) EXPECT(submit(jobs[i], 0) == MOTE_SERVED);
    const long steps = fake_steps;
    EXPECT(mote_service_stop(&service, 0) == MOTE_SERVICE_LATE);
    EXPECT(start(0, 9, &problem) == MOTE_BUSY);
    fake_held = 0;
    EXPECT(mote_service_stop(&service, MOTE_FOREVER) == MOTE_SERVED);
    EXPECT(fake_steps == steps + 1);
    EXPECT(start(0, 9, &problem) == MOTE_BUSY); /* nobody has asked for the results */
    for (uint8_t i = 0; i < 3; i++) {
        EXPECT(wait_for(jobs[i], 0) == MOTE_SERVICE_STOPPED && job_is_untouched(jobs[i]));
        EXPECT(run(jobs[i], 0) == MOTE_SERVICE_STOPPED);
    }
    test_sleep(5);
    EXPECT(fake_steps == steps + 1);
    EXPECT(mote_service_stop(&service, 0) == MOTE_SERVED);
    EXPECT(start(0, 9, &problem) == MOTE_OK);
    for (uint8_t i = 0; i < 3; i++) {
        EXPECT(run(jobs[i], MOTE_FOREVER) == MOTE_SERVED && job_is_right(jobs[i], i, 9));
        job_free(jobs[i]);
    }
    EXPECT(mote_service_stop(&service, MOTE_FOREVER) == MOTE_SERVED);
}

static void pushed_rows(void) {
    mote_problem_t problem = {NULL, NULL, 0};
    job_t *half = job_make(0, 4), *rest = job_make(4, 4), *odd = job_make(0, 3), *late = job_make(7, 6);
    EXPECT(start(1, 1, &problem) == MOTE_OK);
    EXPECT(run(odd, MOTE_FOREVER) == MOTE_SERVED && odd->status == MOTE_UNSUPPORTED);
    EXPECT(run(half, MOTE_FOREVER) == MOTE_SERVED && half->status == MOTE_WAITING && job_is_untouched(half));
    EXPECT(run(rest, MOTE_FOREVER) == MOTE_SERVED && job_is_right(rest, 0, 1));
    hold(late);
    EXPECT(mote_service_cancel(&service, late->ticket, &late->status) == MOTE_SERVICE_LATE);
    job_free(late); /* the rest of its rows is forgotten */
    fake_held = 0;
    late = job_make(7, 8);
    EXPECT(run(late, MOTE_FOREVER) == MOTE_SERVED && job_is_right(late, 7, 1));
    job_free(late);
    job_free(half);
    job_free(rest);
    job_free(odd);
    EXPECT(mote_service_stop(&service, MOTE_FOREVER) == MOTE_SERVED);
}

void test_all(void) {
    before_the_start();
    results_and_sizes();
    order_and_a_full_queue();
    time_outs();
    many_callers();
    stopping();
    pushed_rows();
    puts("passed");
}
