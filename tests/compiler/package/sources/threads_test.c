/* A writer and a reader in two threads: no sample is torn, out of order or missing without being counted. */
#include <pthread.h>

#include "expect.h"
#include "mote_half_buffers.h"

enum { N = 8, BLOCKS = 20000 };

static uint32_t memory[2 * N];
static mote_half_buffers_t halves;
static uint32_t ended; /* atomic */

static void *put(void *unused) {
    uint32_t value[3], next = 0;
    (void)unused;
    while (next < BLOCKS * N) {
        const uint32_t n = BLOCKS * N - next < 3u ? BLOCKS * N - next : 3u;
        for (uint32_t i = 0; i < n; i++) value[i] = next + i;
        (void)mote_half_buffers_put(&halves, value, n * (uint32_t)sizeof value[0]);
        next += n;
    }
    __atomic_store_n(&ended, 1u, __ATOMIC_RELEASE);
    return NULL;
}

static void *transfer(void *unused) {
    uint32_t *to = memory;
    (void)unused;
    for (uint32_t block = 0; block < BLOCKS; block++) {
        for (uint32_t i = 0; i < N; i++) to[i] = block * N + i;
        to = (uint32_t *)mote_half_buffers_next(&halves);
    }
    __atomic_store_n(&ended, 1u, __ATOMIC_RELEASE);
    return NULL;
}

static uint32_t read_all(void *(*writer)(void *)) {
    pthread_t thread;
    uint32_t lost = 0, taken = 0, expected = 0, last;
    mote_half_buffers_reset(&halves, memory, sizeof memory / 2, 0);
    __atomic_store_n(&ended, 0u, __ATOMIC_RELEASE);
    EXPECT(pthread_create(&thread, NULL, writer, NULL) == 0);
    do {
        const uint32_t *block;
        last = __atomic_load_n(&ended, __ATOMIC_ACQUIRE);
        while ((block = (const uint32_t *)mote_half_buffers_take(&halves, &lost)) != NULL) {
            EXPECT(block[0] % N == 0 && block[0] / N >= expected);
            for (uint32_t i = 0; i < N; i++) EXPECT(block[i] == block[0] + i);
            expected = block[0] / N + 1;
            taken++;
        }
    } while (!last);
    EXPECT(pthread_join(thread, NULL) == 0);
    /* The count of losses in a row is cut at 250, so that there may be more. */
    EXPECT(taken > 0 && taken + lost <= BLOCKS);
    return taken;
}

int main(void) {
    (void)read_all(put);
    (void)read_all(transfer);
    puts("passed");
    return 0;
}
