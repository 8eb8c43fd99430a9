/* mote_counter.h: the cycle counter of the core, and which core it is.
 *
 * MOTE_COUNTER is the kind of counter that the core should have: MOTE_COUNTER_DWT (Cortex-M3 and above),
 * MOTE_COUNTER_MCYCLE (RISC-V in machine mode), MOTE_COUNTER_NONE elsewhere. Some parts and emulators leave it out:
 * mote_counter_start says whether it counts.
 */
#ifndef MOTE_COUNTER_H
#define MOTE_COUNTER_H

#include <stdint.h>

#include "mote_agent.h"

#define MOTE_REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && __ARM_ARCH_ISA_THUMB == 2
#define MOTE_COUNTER MOTE_COUNTER_DWT
#define MOTE_DEMCR MOTE_REGISTER(0xE000EDFCu)
#define MOTE_DWT_CTRL MOTE_REGISTER(0xE0001000u)
#define MOTE_DWT_CYCCNT MOTE_REGISTER(0xE0001004u)
#define MOTE_DWT_LAR MOTE_REGISTER(0xE0001FB0u)
#elif defined(__riscv)
#define MOTE_COUNTER MOTE_COUNTER_MCYCLE
#else
#define MOTE_COUNTER MOTE_COUNTER_NONE
#endif

#if defined(__riscv)
/* Reads a register of machine mode. */
#define MOTE_CSR(name, value) \
    __asm__ volatile(".option push\n\t.option arch, +zicsr\n\tcsrr %0, " name "\n\t.option pop" : "=r"(value))
#endif

/* The counter, which wraps at 2^32. */
static inline uint32_t mote_counter_read(void) {
#if defined(MOTE_DWT_CYCCNT)
    return MOTE_DWT_CYCCNT;
#elif defined(__riscv)
    unsigned long cycles;
    MOTE_CSR("mcycle", cycles);
    return (uint32_t)cycles;
#else
    return 0;
#endif
}

/* Starts it; 1: it counts. */
static inline int mote_counter_start(void) {
#if defined(MOTE_DWT_CYCCNT)
    MOTE_DEMCR |= 1u << 24;      /* TRCENA */
    MOTE_DWT_LAR = 0xC5ACCE55u;  /* unlocks it on a Cortex-M7 */
    MOTE_DWT_CTRL |= 1u;         /* CYCCNTENA */
#endif
    const uint32_t before = mote_counter_read();
    for (volatile unsigned i = 0; i < 8u; i++) {
    }
    return mote_counter_read() != before;
}

/* CPUID of a Cortex-M, marchid of a RISC-V in machine mode, 0 elsewhere. */
static inline uint32_t mote_core_id(void) {
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
    return MOTE_REGISTER(0xE000ED00u);
#elif defined(__riscv)
    unsigned long id;
    MOTE_CSR("marchid", id);
    return (uint32_t)id;
#else
    return 0;
#endif
}

#endif
