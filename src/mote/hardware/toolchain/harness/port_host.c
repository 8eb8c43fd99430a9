/* The harness on the computer itself: nothing is counted, so sanitizers and any optimiser may be used. */
#include <stdio.h>
#include <stdlib.h>

#include "port.h"

static FILE *inputs, *results, *calls, *answers;

int port_open(void)
{
    inputs = fopen(PORT_INPUTS, "rb");
    results = fopen(PORT_RESULTS, "wb");
    return inputs != NULL && results != NULL ? 0 : 1;
}

int port_read(void *data, size_t bytes)
{
    return fread(data, 1, bytes, inputs) == bytes ? 0 : 1;
}

int port_write(const void *data, size_t bytes)
{
    return fwrite(data, 1, bytes, results) == bytes ? 0 : 1;
}

int port_device_open(void)
{
    calls = fopen(PORT_CALLS, "wb");
    answers = fopen(PORT_ANSWERS, "rb");
    return calls != NULL && answers != NULL ? 0 : 1;
}

int port_device_read(void *data, size_t bytes)
{
    return fflush(calls) == 0 && fread(data, 1, bytes, answers) == bytes ? 0 : 1;
}

int port_device_write(const void *data, size_t bytes)
{
    return fwrite(data, 1, bytes, calls) == bytes ? 0 : 1;
}

void port_exit(int status)
{
    exit(status);
}

int port_counts(void)
{
    return 0;
}

int port_measure(int (*function)(void), struct port_run *run)
{
    struct port_run none = {0, 0, 0, 0, 0, 0, 0, 0};
    *run = none;
    return function();
}

uint32_t port_ticks(void)
{
    return 0;
}

int port_nothing(void)
{
    return 0;
}

int port_two_marks(void)
{
    return 0;
}

int main(void)
{
    return harness_main();
}
