/* Jobs of the tests: requests with the inputs and results of the case with that number. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define EXPECT(what) do { if (!(what)) { fprintf(stderr, "line %d: %s\n", __LINE__, #what); exit(1); } } while (0)
typedef struct {
    mote_given_t input;
    mote_taken_t output;
    mote_request_t request;
    int8_t scores[NET_OUTPUT_SIZE];
    volatile int ended;
    mote_served_t served;
    mote_status status;
} job_t;
static job_t jobs[COUNT];
static int order[4 * COUNT];
static volatile int count;
static job_t *job(int i) {
    memset(&jobs[i], 0, sizeof jobs[i]);
    jobs[i].input = (mote_given_t){given[i], NET_INPUT_BYTES};
    jobs[i].output = (mote_taken_t){jobs[i].scores, NET_OUTPUT_BYTES};
    jobs[i].request = (mote_request_t){&jobs[i].input, &jobs[i].output, 1, 1};
    return &jobs[i];
}
static int right(int i) {
    return jobs[i].status == MOTE_OK && memcmp(jobs[i].scores, wanted[i], sizeof wanted[i]) == 0;
}
static int untouched(int i) {
    static const int8_t none[NET_OUTPUT_SIZE];
    return memcmp(jobs[i].scores, none, sizeof none) == 0;
}
