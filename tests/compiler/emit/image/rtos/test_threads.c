/* test_threads.c: on pthreads, as the operating systems beside it. */
#include "test_threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

int objects_left = 64; /* of cmsis_os2.h */

static struct {
    pthread_t thread;
    void (*function)(void *);
    void *argument;
} threads[8];

static void *begin(void *number) {
    const size_t i = (size_t)number;
    threads[i].function(threads[i].argument);
    return NULL;
}

void test_sleep(int milliseconds) {
    const struct timespec time = {milliseconds / 1000, (milliseconds % 1000) * 1000000L};
    nanosleep(&time, NULL);
}

void test_begin(unsigned number, void (*function)(void *), void *argument) {
    threads[number].function = function;
    threads[number].argument = argument;
    if (pthread_create(&threads[number].thread, NULL, begin, (void *)(size_t)number) != 0) abort();
}

void test_end(unsigned number) { pthread_join(threads[number].thread, NULL); }

int main(void) {
    test_all();
    return 0;
}
