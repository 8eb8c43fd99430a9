/* mote_barrier.h: where two cores wait for each other. MOTE_BARRIER is the name of the firmware's own function
 * void NAME(uint32_t core), called by core 0 and core 1; it returns on neither before the other one has called it, and
 * then each sees all that the other one has written. Without it, both spin on words of RAM that both see alike (no
 * data cache between, or coherent ones); loads and stores are enough, so cores without atomic exchange can do it. */
#ifndef MOTE_BARRIER_H
#define MOTE_BARRIER_H

#include <stdint.h>

#if defined(MOTE_BARRIER)
void MOTE_BARRIER(uint32_t core);
#elif defined(__GNUC__)
#define MOTE_BARRIER mote_barrier

static uint32_t mote_arrived[2]; /* how many barriers each core has come to */

/* The other core is at most one barrier ahead or behind. Its number is compared for being behind only. */
static inline void mote_barrier(uint32_t core) {
    const uint32_t before = __atomic_load_n(&mote_arrived[core], __ATOMIC_RELAXED);
    __atomic_store_n(&mote_arrived[core], before + 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&mote_arrived[1 - core], __ATOMIC_ACQUIRE) == before) {
    }
}
#else
#error "this compiler has no __atomic functions: define MOTE_BARRIER, the function at which two cores wait"
#endif

#endif
