/* host.c: this computer. The line is standard input and output. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <time.h>

#include "mlperf.h"

void board_begin(void)
{
}

int board_read(void)
{
    const int character = getchar();
    return character == EOF ? BOARD_CLOSED : character;
}

uint32_t board_microseconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)((uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u);
}

void board_pulse(void)
{
}
