/* test_threads.h: threads of the test itself, and its beginning. */
#ifndef TEST_THREADS_H
#define TEST_THREADS_H

void test_all(void);
void test_sleep(int milliseconds);
void test_begin(unsigned number, void (*function)(void *), void *argument);
void test_end(unsigned number); /* waits for it */

#endif
