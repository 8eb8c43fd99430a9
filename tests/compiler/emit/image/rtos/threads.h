/* threads.h: a small operating system for tests on a computer: semaphores, queues, mutexes and threads that really run,
 * of pthreads. The headers beside it give it the names of CMSIS-RTOS2, FreeRTOS and Zephyr, as far as adapters use
 * them; how those are called is taken from their documentation. */
#ifndef THREADS_H
#define THREADS_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS_FOREVER UINT32_MAX
#define MOST_BYTES 32

/* Counts, and hands bytes over in order where it is a queue. */
typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    unsigned count, most, first;
    uint8_t bytes[MOST_BYTES];
    int made; /* used before it was made, or made twice, is a fault */
} counter_t;

static inline void counter_make(counter_t *c, unsigned count, unsigned most) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    if (c->made == 0x600d) abort();
    memset(c, 0, sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->more, &monotonic);
    c->count = count;
    c->most = most;
    c->made = 0x600d;
}

/* 0: not within the time. */
static inline int counter_take(counter_t *c, uint32_t milliseconds, uint8_t *byte) {
    struct timespec end;
    int failed = 0;
    if (c->made != 0x600d) abort();
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += milliseconds / 1000u;
    end.tv_nsec += (long)(milliseconds % 1000u) * 1000000;
    if (end.tv_nsec >= 1000000000) end.tv_sec++, end.tv_nsec -= 1000000000;
    pthread_mutex_lock(&c->lock);
    while (c->count == 0 && !failed) {
        if (milliseconds == THREADS_FOREVER) pthread_cond_wait(&c->more, &c->lock);
        else failed = pthread_cond_timedwait(&c->more, &c->lock, &end) == ETIMEDOUT;
    }
    const int taken = c->count > 0;
    if (taken) {
        if (byte != NULL) *byte = c->bytes[c->first];
        c->first = (c->first + 1) % MOST_BYTES;
        c->count--;
    }
    pthread_mutex_unlock(&c->lock);
    return taken;
}

/* 0: it is full. */
static inline int counter_give(counter_t *c, uint8_t byte) {
    if (c->made != 0x600d) abort();
    pthread_mutex_lock(&c->lock);
    const int room = c->count < c->most;
    if (room) {
        c->bytes[(c->first + c->count) % MOST_BYTES] = byte;
        c->count++;
        pthread_cond_signal(&c->more);
    }
    pthread_mutex_unlock(&c->lock);
    if (!room) abort(); /* adapters never overflow anything */
    return room;
}

static inline void thread_run(void *(*function)(void *), void *argument) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, argument) != 0) abort();
    pthread_detach(thread);
}

#endif
