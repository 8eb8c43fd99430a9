/* host.c: this computer. The line is standard input and output. */
#define _POSIX_C_SOURCE 200112L
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "mlperf.h"

void board_begin(void)
{
}

int board_read(int wait)
{
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, wait ? -1 : 0) == 0) {
        return BOARD_NOTHING;
    }
    unsigned char character;
    return read(STDIN_FILENO, &character, 1) == 1 ? character : BOARD_CLOSED;
}

uint32_t board_microseconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)((uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u);
}

void board_set(int pin, int high)
{
    (void)pin;
    (void)high;
}
