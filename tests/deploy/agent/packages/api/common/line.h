/* line.h: standard input and output as the line of an emulated system, and a clock of nanoseconds, for tests. */
#ifndef LINE_H
#define LINE_H

#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Bytes that are there, after at most so many milliseconds; the end of input ends the program. */
static inline int line_take(void *to, uint32_t bytes, int milliseconds) {
    struct pollfd input = {0, POLLIN, 0};
    if (poll(&input, 1, milliseconds) <= 0) return 0;
    ssize_t count = read(0, to, bytes);
    if (count <= 0) exit(0);
    return (int)count;
}

static inline int line_give(const void *from, uint32_t bytes) { return (int)write(1, from, bytes); }

static inline uint64_t line_nanoseconds(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
