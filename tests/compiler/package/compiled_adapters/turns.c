/* A model in the turns of a main loop. */
#include "cases.h"
#include "mote_turns.h"
#include "jobs.h"
static mote_turns_t loop;
static void done(void *context, mote_served_t served, mote_status status) {
    job_t *own = context;
    own->served = served;
    own->status = status;
    own->ended = 1;
    order[count++] = (int)(own - jobs);
    if (own == &jobs[3]) EXPECT(mote_turns_post(&loop, &job(4)->request, done, &jobs[4]) == MOTE_SERVED);
}
int main(void) {
    const mote_service_config_t config = {&net_compiled, INSTANCE(0), 0};
    mote_problem_t problem = {NULL, NULL, 0};
    int turns = 0;
    EXPECT(mote_turns_post(&loop, &job(0)->request, done, &jobs[0]) == MOTE_SERVICE_STOPPED);
    EXPECT(mote_turns_step(&loop) == MOTE_NOT_READY);
    EXPECT(mote_turns_start(&loop, &config, &problem) == MOTE_OK && mote_turns_step(&loop) == MOTE_OK);
    for (int i = 0; i < MOTE_SERVICE_SLOTS; i++)
        EXPECT(mote_turns_post(&loop, &job(i)->request, done, &jobs[i]) == MOTE_SERVED);
    EXPECT(mote_turns_post(&loop, &job(5)->request, done, &jobs[5]) == MOTE_SERVICE_FULL);
    while (mote_turns_step(&loop) == MOTE_BUSY) turns++;
    EXPECT(count == 5 && turns + 1 == 5 * STEPS); /* a step in each turn; the callback has posted another one */
    for (int i = 0; i < 5; i++) EXPECT(jobs[i].served == MOTE_SERVED && right(i) && order[i] == i);
    for (int wrong = 0; wrong < 2; wrong++) {
        job(0)->output.bytes += (uint32_t)wrong;
        jobs[0].input.bytes -= 1u - (uint32_t)wrong;
        EXPECT(mote_turns_post(&loop, &jobs[0].request, done, &jobs[0]) == MOTE_SERVED);
        EXPECT(mote_turns_step(&loop) == MOTE_OK);
        EXPECT(jobs[0].status == MOTE_UNSUPPORTED && untouched(0));
    }
    EXPECT(mote_turns_post(&loop, &job(1)->request, done, &jobs[1]) == MOTE_SERVED);
    EXPECT(mote_turns_step(&loop) == MOTE_BUSY && mote_turns_start(&loop, &config, &problem) == MOTE_BUSY);
    while (mote_turns_step(&loop) == MOTE_BUSY) { }
    EXPECT(right(1));
    if (PUSHED) { /* rows in two pieces */
        job(2)->input.bytes = NET_INPUT_BYTES / 2;
        EXPECT(mote_turns_post(&loop, &jobs[2].request, done, &jobs[2]) == MOTE_SERVED);
        while (mote_turns_step(&loop) == MOTE_BUSY) { }
        EXPECT(jobs[2].status == MOTE_WAITING && untouched(2));
        jobs[2].input.data = (const uint8_t *)jobs[2].input.data + NET_INPUT_BYTES / 2;
        EXPECT(mote_turns_post(&loop, &jobs[2].request, done, &jobs[2]) == MOTE_SERVED);
        while (mote_turns_step(&loop) == MOTE_BUSY) { }
        EXPECT(right(2));
    }
    EXPECT(mote_turns_start(&loop, &config, NULL) == MOTE_OK && mote_turns_step(&loop) == MOTE_OK);
    puts("passed");
    return 0;
}
