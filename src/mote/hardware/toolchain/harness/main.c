/* Reads inputs from a file, runs the model on each, writes what came out to another file.
 *
 * The results are records of three words (tag, argument, bytes) and that many bytes; results.py reads them.
 * This file calls no library, so that everything of a library in the ELF is there for the model. */
#include "harness.h"
#include "port.h"

enum tag { CALIBRATION = 1, MARK, DUMP, RUN, OUTPUT, FAILURE, FAULT, END };
enum failure { BAD_INPUTS = 1, INIT_FAILED, RUN_FAILED };

static uint32_t last_mark; /* ticks when the last mark returned, less those skipped */
uint32_t port_skipped;

static void record(enum tag tag, uint32_t argument, const void *data, size_t bytes)
{
    uint32_t head[3] = {(uint32_t)tag, argument, (uint32_t)bytes};
    if (port_write(head, sizeof head) != 0 || port_write(data, bytes) != 0)
        port_exit(3);
}

static int fail(enum failure what, int detail)
{
    uint32_t value = (uint32_t)detail;
    record(FAILURE, (uint32_t)what, &value, sizeof value);
    return 1;
}

void mote_trace(unsigned step, const void *data, size_t bytes)
{
    record(DUMP, step, data, bytes);
}

/* Whatever happens between the two readings is in no interval, so writing the record costs the model nothing. */
void mote_mark(unsigned step)
{
    uint32_t interval[2];
    interval[1] = port_ticks() - port_skipped;
    interval[0] = last_mark;
    record(MARK, step, interval, sizeof interval);
    last_mark = port_ticks() - port_skipped;
}

void mote_fault(uint32_t cause, uint32_t pc)
{
    uint32_t where[2] = {cause, pc};
    record(FAULT, 0, where, sizeof where);
    port_exit(2);
}

static int measure(int (*function)(void), struct port_run *run)
{
    port_skipped = 0;
    int status = port_measure(function, run);
    run->last_mark = last_mark;
    run->skipped = port_skipped;
    return status;
}

/* The cost of a measured call and of a mark, as the difference to functions whose length is known. */
static void calibrate(void)
{
    struct port_run run;
    if (!port_counts())
        return;
    measure(port_nothing, &run);
    record(CALIBRATION, 0, &run, sizeof run);
    measure(port_two_marks, &run);
    record(CALIBRATION, 1, &run, sizeof run);
}

/* The inputs' file: number of inferences, number of inputs, the bytes of each input, then the data. */
static int inputs_match(uint32_t *inferences)
{
    uint32_t count, bytes;
    if (port_read(inferences, sizeof *inferences) != 0 || port_read(&count, sizeof count) != 0)
        return 0;
    if (count != harness_input_count)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        if (port_read(&bytes, sizeof bytes) != 0 || bytes != harness_input_bytes(i))
            return 0;
    return 1;
}

static int infer(uint32_t index)
{
    struct port_run run;
    for (uint32_t i = 0; i < harness_input_count; i++)
        if (port_read(harness_input(i), harness_input_bytes(i)) != 0)
            return fail(BAD_INPUTS, (int)index);
    int status = measure(harness_run, &run);
    record(RUN, harness_step_count, &run, sizeof run);
    if (status != 0)
        return fail(RUN_FAILED, status);
    for (uint32_t i = 0; i < harness_output_count; i++)
        record(OUTPUT, i, harness_output(i), harness_output_bytes(i));
    return 0;
}

int harness_main(void)
{
    uint32_t inferences;
    if (port_open() != 0)
        return 3;
    if (!inputs_match(&inferences))
        return fail(BAD_INPUTS, -1);
    int status = harness_init();
#ifdef HARNESS_CHECK /* left out where sizes are measured */
    if (status == 0)
        status = harness_check();
#endif
    if (status != 0)
        return fail(INIT_FAILED, status);
    calibrate();
    for (uint32_t i = 0; i < inferences; i++)
        if (infer(i) != 0)
            return 1;
    record(END, inferences, &inferences, 0);
    return 0;
}
