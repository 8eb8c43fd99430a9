/* The measuring harness around a model in a main loop, whose number of steps is put in. */
#include "harness.h"
#include "mote_turns.h"
#include "net_service.h"
static mote_turns_t loop;
static int8_t samples[NET_INPUT_SIZE], scores[NET_OUTPUT_SIZE];
static mote_status result;
static void done(void *context, mote_served_t served, mote_status status) {
    (void)context;
    result = served == MOTE_SERVED ? status : MOTE_WRONG;
}
const uint32_t harness_input_count = 1, harness_output_count = 1, harness_step_count = WORKS;
void *harness_input(uint32_t i) { (void)i; return samples; }
size_t harness_input_bytes(uint32_t i) { (void)i; return sizeof samples; }
const void *harness_output(uint32_t i) { (void)i; return scores; }
size_t harness_output_bytes(uint32_t i) { (void)i; return sizeof scores; }
int harness_init(void) {
    const mote_service_config_t config = {&net_compiled, NULL, 0};
    return (int)mote_turns_start(&loop, &config, NULL);
}
int harness_check(void) { return (int)net_check(); }
int harness_run(void) {
    static const mote_given_t inputs[] = {{samples, sizeof samples}};
    static const mote_taken_t outputs[] = {{scores, sizeof scores}};
    static const mote_request_t request = {inputs, outputs, 1, 1};
    if (mote_turns_post(&loop, &request, done, NULL) != MOTE_SERVED) return 99;
    while (mote_turns_step(&loop) == MOTE_BUSY) { }
    return (int)result;
}
