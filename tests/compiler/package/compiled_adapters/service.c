/* A model in a thread of its own: requests that wait, callbacks, the queue, two instances. */
#include "cases.h"
#include "mote_service.h"
#include "jobs.h"
#include "test_threads.h"
static mote_service_t services[2];
static volatile long beats;
static volatile int held;
static void alive(void *context) {
    EXPECT(context == (void *)&beats);
    beats++;
    while (held) test_sleep(1);
}
/* Answers through a callback; what the test reads is written last, behind the lock of the next request. */
static void done(void *context, mote_served_t served, mote_status status) {
    job_t *own = context;
    own->served = served;
    own->status = status;
    order[count] = (int)(own - jobs);
    __atomic_store_n(&count, count + 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&own->ended, 1, __ATOMIC_SEQ_CST);
}
static void wait_for(int i) { while (!__atomic_load_n(&jobs[i].ended, __ATOMIC_SEQ_CST)) test_sleep(1); }
static mote_served_t post(int i, uint32_t milliseconds) {
    return mote_service_post(&services[0], &job(i)->request, milliseconds, done, &jobs[i]);
}
static mote_served_t ask(int which, int i) {
    return mote_service_run(&services[which], &job(i)->request, MOTE_FOREVER, &jobs[i].status);
}
static mote_status start(int which) {
    const mote_service_config_t config = {&net_compiled, INSTANCE(which), 16};
    mote_problem_t problem = {NULL, NULL, 0};
    const mote_status status = mote_service_start(&services[which], &config, &problem);
    EXPECT(status == MOTE_OK || problem.what != NULL);
    return status;
}
static void other(void *unused) {
    (void)unused;
    for (int i = 1; i < COUNT; i += 2) EXPECT(ask(1, i) == MOTE_SERVED && right(i));
}
void test_all(void) {
    long before;
    EXPECT(ask(0, 0) == MOTE_SERVICE_STOPPED && post(0, 0) == MOTE_SERVICE_STOPPED);
    mote_service_watch(&services[0], alive, (void *)&beats);
    EXPECT(start(0) == MOTE_OK && start(0) == MOTE_BUSY);
    for (int i = 0; i < COUNT; i++) {
        before = beats;
        EXPECT(ask(0, i) == MOTE_SERVED && right(i));
        EXPECT(beats == before + STEPS); /* the watchdog is fed after every step */
    }
    job(0)->input.bytes--; /* sizes that are not the model's */
    EXPECT(mote_service_run(&services[0], &jobs[0].request, 100, &jobs[0].status) == MOTE_SERVED);
    EXPECT(jobs[0].status == MOTE_UNSUPPORTED && untouched(0));
    for (int i = 0; i < 4; i++) EXPECT(post(i, MOTE_FOREVER) == MOTE_SERVED);
    for (int i = 0; i < 4; i++) {
        wait_for(i);
        EXPECT(jobs[i].served == MOTE_SERVED && right(i) && order[i] == i);
    }
    EXPECT(mote_service_post(&services[0], &job(5)->request, MOTE_FOREVER, NULL, NULL) == MOTE_SERVED);
    EXPECT(ask(0, 1) == MOTE_SERVED && right(1)); /* after it in the queue */
    jobs[5].status = MOTE_OK;
    EXPECT(right(5));
    if (SEVERAL) { /* two instances in two threads at once */
        EXPECT(start(1) == MOTE_OK);
        test_begin(0, other, NULL);
        for (int i = 0; i < COUNT; i += 2) EXPECT(ask(0, i) == MOTE_SERVED && right(i));
        test_end(0);
        EXPECT(mote_service_stop(&services[1], MOTE_FOREVER) == MOTE_SERVED);
    }
    held = 1; /* stopped in the middle, with another one in the queue */
    before = beats;
    EXPECT(post(2, 0) == MOTE_SERVED && post(3, 0) == MOTE_SERVED);
    while (beats == before) test_sleep(1);
    EXPECT(mote_service_stop(&services[0], 2) == MOTE_SERVICE_LATE);
    held = 0;
    EXPECT(mote_service_stop(&services[0], MOTE_FOREVER) == MOTE_SERVED);
    wait_for(2);
    wait_for(3);
    for (int i = 2; i < 4; i++) EXPECT(jobs[i].served == MOTE_SERVICE_STOPPED && untouched(i));
    EXPECT(start(0) == MOTE_OK && ask(0, 4) == MOTE_SERVED && right(4));
    if (PUSHED) { /* rows in two pieces */
        uint8_t ticket;
        job(1)->input.bytes = NET_INPUT_BYTES / 2;
        EXPECT(mote_service_submit(&services[0], &jobs[1].request, 0, &ticket) == MOTE_SERVED);
        EXPECT(mote_service_wait(&services[0], ticket, MOTE_FOREVER, &jobs[1].status) == MOTE_SERVED);
        EXPECT(jobs[1].status == MOTE_WAITING && untouched(1));
        jobs[1].input.data = (const uint8_t *)jobs[1].input.data + NET_INPUT_BYTES / 2;
        EXPECT(mote_service_run(&services[0], &jobs[1].request, MOTE_FOREVER, &jobs[1].status) == MOTE_SERVED);
        EXPECT(right(1));
    }
    EXPECT(mote_service_stop(&services[0], MOTE_FOREVER) == MOTE_SERVED);
    puts("passed");
}
