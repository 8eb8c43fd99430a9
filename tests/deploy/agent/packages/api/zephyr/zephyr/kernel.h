/* The part of Zephyr's API that the agent's port uses, by its documentation, over standard input and output. */
#ifndef ZEPHYR_INCLUDE_KERNEL_H_
#define ZEPHYR_INCLUDE_KERNEL_H_

#include <stddef.h>
#include <stdint.h>

#include "line.h"

#define ARG_UNUSED(x) (void)(x)
#define __noinit

struct k_thread {
    struct {
        uintptr_t start;
        size_t size;
    } stack_info;
};

typedef struct k_thread *k_tid_t;

static struct k_thread own_thread;

static inline k_tid_t k_current_get(void) { return &own_thread; }
static inline uint32_t k_cycle_get_32(void) { return (uint32_t)(line_nanoseconds() / 10u); }
static inline uint32_t sys_clock_hw_cycles_per_sec(void) { return 100000000u; }
static inline int32_t k_msleep(int32_t ms) { return poll(NULL, 0, ms); }

#endif
