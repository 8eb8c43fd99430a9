/* An emulated board with two cores, a Cortex-M33 pair (QEMU mps2-an521) or two RISC-V harts (virt), that runs a model.
 * With MODEL_CORES 2 both cores share an inference, whose outputs are compared with those of one core; else one core
 * computes it. The emulator counts what runs between begin and end. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "model.h"

extern uint8_t bss_start[], bss_end[], data_start[], data_end[], data_image[], stacks_top[];
void start_core(uint32_t core);
void begin(void);
void end(void);
void meet(uint32_t core);

enum { STACK = 32768, RUNS = 3, MOST = 1 << 16 };

#define APART __attribute__((noinline, used, noclone))

static volatile uint32_t ready;
static uint8_t expected[MOST];

APART void begin(void) { __asm__ volatile("" ::: "memory"); }
APART void end(void) { __asm__ volatile("nop" ::: "memory"); }

#if MODEL_CORES == 2
#include "mote_barrier.h"
APART void meet(uint32_t core) { mote_barrier(core); }
#else
APART void meet(uint32_t core) { (void)core; }
#endif

#ifdef __arm__
static void leave(int status) {
    register uint32_t operation __asm__("r0") = 0x18, reason __asm__("r1") = status == 0 ? 0x20026 : 0x20023;
    __asm__ volatile("bkpt 0xab" : : "r"(operation), "r"(reason) : "memory");
    for (;;) { }
}

void start_arm(void);
void start_arm_1(void);
void start_arm(void) {
    *(volatile uint32_t *)0xE000ED88 |= 0xF << 20; /* the FPU on */
    start_core(0);
}
void start_arm_1(void) {
    *(volatile uint32_t *)0xE000ED88 |= 0xF << 20;
    start_core(1);
}

static void fault(void) { leave(1); }

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    stacks_top, (const void *)start_arm, (const void *)fault, (const void *)fault,
    (const void *)fault, (const void *)fault, (const void *)fault,
};
__attribute__((section(".vectors_1"), used, aligned(1024))) static const void *const vectors_1[16] = {
    stacks_top - STACK, (const void *)start_arm_1, (const void *)fault, (const void *)fault,
    (const void *)fault, (const void *)fault, (const void *)fault,
};

/* INITSVTOR1 and CPUWAIT of the SSE-200. */
static void release_core_1(void) {
    *(volatile uint32_t *)0x50021114 = (uint32_t)vectors_1;
    *(volatile uint32_t *)0x50021118 = 0;
}
#else
static void leave(int status) {
    *(volatile uint32_t *)0x100000 = status == 0 ? 0x5555 : 0x13333; /* the board's test device */
    for (;;) { }
}

static void release_core_1(void) { }

__asm__(".option arch, +zicsr\n"
        ".section .vectors, \"ax\"\n"
        "la sp, stacks_top\n"
        "csrr a0, mhartid\n"
        "li t0, 32768\n"
        "mul t0, t0, a0\n"
        "sub sp, sp, t0\n"
        "la t1, trap\n"
        "csrw mtvec, t1\n"
        "call start_core\n"
        ".balign 4\n"
        "trap: li a0, 1\n"
        "call leave_trap\n"
        ".text\n");
void leave_trap(int status);
void leave_trap(int status) { leave(status); }
#endif

static int right(int run) {
    const size_t bytes = MODEL_OUTPUT_BYTES;
    (void)run;
    return memcmp(expected, model_output(), bytes) == 0;
}

static void fill(int run) {
    uint8_t *const input = (uint8_t *)model_input();
    uint32_t x = 12345u + (uint32_t)run;
    for (size_t i = 0; i < MODEL_INPUT_BYTES; i++) {
        x = x * 1664525u + 1013904223u;
        input[i] = (uint8_t)(x >> 24);
    }
}

void start_core(uint32_t core) {
    if (core == 0) {
        memcpy(data_start, data_image, (size_t)(data_end - data_start));
        memset(bss_start, 0, (size_t)(bss_end - bss_start));
        if (model_init() != MOTE_OK || sizeof expected < MODEL_OUTPUT_BYTES) {
            leave(1);
        }
        release_core_1();
        __atomic_store_n(&ready, 0x600DC0DEu, __ATOMIC_RELEASE);
        for (int run = 0; run < RUNS; run++) {
            fill(run);
#if MODEL_CORES == 2
            if (model_run() != MOTE_OK) {
                leave(1);
            }
            memcpy(expected, model_output(), MODEL_OUTPUT_BYTES);
            fill(run);
            begin();
            const mote_status status = model_run_core(0);
            end();
            if (status != MOTE_OK || !right(run)) {
                leave(1);
            }
#else
            begin();
            const mote_status status = model_run();
            end();
            if (status != MOTE_OK) {
                leave(1);
            }
            (void)right;
#endif
        }
        leave(0);
    }
    while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) != 0x600DC0DEu) { }
    for (;;) {
#if MODEL_CORES == 2
        (void)model_run_core(1);
#endif
    }
}
