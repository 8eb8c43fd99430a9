/* The harness on an emulated core: files by semihosting, time by the board's counter.
 *
 * The board comes from the command line: MOTE_COUNTER (address of the counter's low word, read in measure.S),
 * MOTE_COUNTER_HIGH (a word that changes when the low word wraps) and one of MOTE_TIMER_CMSDK, MOTE_TIMER_SSE,
 * MOTE_TIMER_MTIME. */
#include "port.h"

#define STACK_PAINT 0xA5C3A5C3u /* also in measure.S */
#define REGISTER(address) (*(volatile uint32_t *)(address))

enum { SYS_OPEN = 0x01, SYS_WRITE = 0x05, SYS_READ = 0x06, SYS_EXIT_EXTENDED = 0x20 };
enum { MODE_READ_BINARY = 1, MODE_WRITE_BINARY = 5 };

/* In start.S and measure.S of the architecture. */
int mote_semihost(int operation, const void *block);
int mote_measured_call(int (*function)(void), struct port_run *run);

/* From the linker script; each is the address of what it names. */
extern uint32_t mote_stack_bottom[], mote_stack_top[];
extern uint32_t mote_data_image[], mote_data_start[], mote_data_end[];
extern uint32_t mote_ram_code_image[], mote_ram_code_start[], mote_ram_code_end[];
extern uint32_t mote_glue_image[], mote_glue_start[], mote_glue_end[];
extern uint32_t mote_bss_start[], mote_bss_end[];

void mote_boot(void);

static int inputs, results, calls, answers;

static int open_file(const char *name, size_t length, uintptr_t mode)
{
    uintptr_t block[3] = {(uintptr_t)name, mode, length};
    return mote_semihost(SYS_OPEN, block);
}

static int transfer(int operation, int file, const void *data, size_t bytes)
{
    uintptr_t block[3] = {(uintptr_t)file, (uintptr_t)data, bytes};
    return bytes == 0 ? 0 : mote_semihost(operation, block); /* the number of bytes left over */
}

int port_open(void)
{
    inputs = open_file(PORT_INPUTS, sizeof PORT_INPUTS - 1, MODE_READ_BINARY);
    results = open_file(PORT_RESULTS, sizeof PORT_RESULTS - 1, MODE_WRITE_BINARY);
    return inputs < 0 || results < 0;
}

int port_read(void *data, size_t bytes)
{
    return transfer(SYS_READ, inputs, data, bytes);
}

int port_write(const void *data, size_t bytes)
{
    return transfer(SYS_WRITE, results, data, bytes);
}

int port_device_open(void)
{
    calls = open_file(PORT_CALLS, sizeof PORT_CALLS - 1, MODE_WRITE_BINARY);
    answers = open_file(PORT_ANSWERS, sizeof PORT_ANSWERS - 1, MODE_READ_BINARY);
    return calls < 0 || answers < 0;
}

/* A pipe may hold less than is wanted. */
static int transfer_all(int operation, int file, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    while (bytes != 0) {
        const size_t left = (size_t)transfer(operation, file, at, bytes);
        if (left >= bytes)
            return 1;
        at += bytes - left;
        bytes = left;
    }
    return 0;
}

int port_device_read(void *data, size_t bytes)
{
    return transfer_all(SYS_READ, answers, data, bytes);
}

int port_device_write(const void *data, size_t bytes)
{
    return transfer_all(SYS_WRITE, calls, data, bytes);
}

void port_exit(int status)
{
    uintptr_t block[2] = {0x20026, (uintptr_t)status}; /* ADP_Stopped_ApplicationExit */
    for (;;)
        mote_semihost(SYS_EXIT_EXTENDED, block);
}

int port_counts(void)
{
    return 1;
}

/* A CMSDK timer counts 32 bits down and raises a flag when it wraps: it starts anew for each run.
 * The other counters have 64 bits and run for ever. */
static void start_counter(void)
{
#if defined(MOTE_TIMER_CMSDK)
    const uintptr_t timer = MOTE_COUNTER - 4;
    REGISTER(timer + 0x0) = 0;
    REGISTER(timer + 0x4) = 0xFFFFFFFFu; /* value */
    REGISTER(timer + 0x8) = 0xFFFFFFFFu; /* reload */
    REGISTER(timer + 0xC) = 1;           /* clear the flag */
    REGISTER(timer + 0x0) = 0x9;         /* run, with the flag; the NVIC does not listen */
#elif defined(MOTE_TIMER_SSE)
    REGISTER(0x58100000) = 1; /* the system counter's control frame */
#endif
}

int port_measure(int (*function)(void), struct port_run *run)
{
    start_counter();
    run->high_before = REGISTER(MOTE_COUNTER_HIGH);
    int status = mote_measured_call(function, run); /* leaves its stack pointer in run->stack */
    run->high_after = REGISTER(MOTE_COUNTER_HIGH);
    const volatile uint32_t *deepest = mote_stack_bottom;
    while (*deepest == STACK_PAINT && (uintptr_t)deepest < run->stack)
        deepest++;
    run->overflowed = deepest == mote_stack_bottom;
    run->stack -= (uint32_t)(uintptr_t)deepest;
    return status;
}

static void copy(uint32_t *to, const uint32_t *end, const uint32_t *from)
{
    while (to < end)
        *to++ = *from++;
}

/* Called by the start-up code once there is a stack. */
void mote_boot(void)
{
    copy(mote_data_start, mote_data_end, mote_data_image);
    copy(mote_ram_code_start, mote_ram_code_end, mote_ram_code_image);
    copy(mote_glue_start, mote_glue_end, mote_glue_image);
    for (uint32_t *p = mote_bss_start; p < mote_bss_end; p++)
        *p = 0;
    port_exit(harness_main());
}

/* newlib's math functions set errno, and its own errno brings a kilobyte of reentrancy state with it. */
int *__errno(void);
int *__errno(void)
{
    static int value;
    return &value;
}

/* Libraries of external generators print what is wrong with their arguments; there is nothing to print to. */
int printf(const char *format, ...);

int printf(const char *format, ...)
{
    (void)format;
    return 0;
}
