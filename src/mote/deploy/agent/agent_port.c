/* The agent on bare metal: a serial port that is polled, the core's counter, its reset. agent_part.h has the part's
 * numbers. */
#include "mote_agent.h"

#include "agent_part.h"
#include "firmware.h"
#include "mote_counter.h"

#ifndef MOTE_AGENT_SCRATCH_BYTES
#define MOTE_AGENT_SCRATCH_BYTES 0
#endif
#ifndef MOTE_AGENT_IMAGE_BYTES
#define MOTE_AGENT_IMAGE_BYTES 0
#endif

/* From the linker script. */
extern uint8_t mote_stack_bottom[];
/* In start.S. */
void mote_start(void);

/* No reset clears it: whatever it was at power-on, it differs after each. */
static uint32_t boots __attribute__((section(".mote_kept")));

#if MOTE_PART_COUNTER == MOTE_COUNTER_SYSTICK
static volatile uint32_t wraps;

/* In the vectors of start.S: the counter has 24 bits. */
void mote_systick(void);
void mote_systick(void) { wraps++; }
#endif

static void start_counter(void) {
#if MOTE_PART_COUNTER == MOTE_COUNTER_DWT
    (void)mote_counter_start();
#elif MOTE_PART_COUNTER == MOTE_COUNTER_SYSTICK
    MOTE_REGISTER(0xE000E014u) = 0xFFFFFFu;
    MOTE_REGISTER(0xE000E018u) = 0;
    MOTE_REGISTER(0xE000E010u) = 7; /* the core's clock, an exception when it wraps */
#elif defined(MOTE_PART_CMSDK)
    MOTE_REGISTER(MOTE_PART_CMSDK - 4u) = 0;
    MOTE_REGISTER(MOTE_PART_CMSDK) = 0xFFFFFFFFu;
    MOTE_REGISTER(MOTE_PART_CMSDK + 4u) = 0xFFFFFFFFu;
    MOTE_REGISTER(MOTE_PART_CMSDK - 4u) = 1;
#elif defined(MOTE_PART_SSE)
    MOTE_REGISTER(0x58100000u) = 1; /* the system counter's control frame */
#endif
}

uint32_t mote_port_cycles(void) {
#if MOTE_PART_COUNTER == MOTE_COUNTER_SYSTICK
    uint32_t high, low;
    do {
        high = wraps;
        low = MOTE_REGISTER(0xE000E018u);
    } while (high != wraps);
    return (high + 1u) * 0x1000000u - (low == 0 ? 0x1000000u : low); /* the exception comes with 0 */
#elif defined(MOTE_PART_CMSDK)
    return 0u - MOTE_REGISTER(MOTE_PART_CMSDK); /* it counts down */
#elif defined(MOTE_PART_TIME)
    return MOTE_REGISTER(MOTE_PART_TIME);
#else
    return mote_counter_read();
#endif
}

/* An emulated core that waits for the host takes nothing of the computer that it runs on: it sleeps until a byte comes.
 * Interrupts are masked, they only wake it. */
#if defined(MOTE_PART_SLEEPS_CMSDK)
#define UART MOTE_PART_SLEEPS_CMSDK
static void prepare_sleep(void) {
    __asm__ volatile("cpsid i" : : : "memory");
    MOTE_REGISTER(UART + 0x8u) |= 8u; /* an interrupt for each byte */
    for (uint32_t i = 0; i < 4; i++) MOTE_REGISTER(0xE000E100u + 4 * i) = 0xFFFFFFFFu;
}

static void nap(void) {
    MOTE_REGISTER(UART + 0xCu) = 2;
    for (uint32_t i = 0; i < 4; i++) MOTE_REGISTER(0xE000E280u + 4 * i) = 0xFFFFFFFFu;
    if ((MOTE_REGISTER(UART + 0x4u) & 2u) == 0) __asm__ volatile("dsb\nwfi" : : : "memory");
}
#elif defined(MOTE_PART_SLEEPS_PLIC)
#define PLIC 0x0C000000u
#define UART_INTERRUPT 10u
static void prepare_sleep(void) {
    *(volatile uint8_t *)(MOTE_PART_SLEEPS_PLIC + 1u) = 1; /* an interrupt for each byte */
    MOTE_REGISTER(PLIC + 4 * UART_INTERRUPT) = 1;
    MOTE_REGISTER(PLIC + 0x2000u) = 1u << UART_INTERRUPT;
    __asm__ volatile(".option push\n.option arch, +zicsr\ncsrs mie, %0\n.option pop" : : "r"(1u << 11));
}

static void nap(void) {
    const uint32_t claimed = MOTE_REGISTER(PLIC + 0x200004u);
    if (claimed != 0) MOTE_REGISTER(PLIC + 0x200004u) = claimed;
    if ((*(volatile uint8_t *)(MOTE_PART_SLEEPS_PLIC + 5u) & 1u) == 0) __asm__ volatile("wfi" : : : "memory");
}
#else
#define prepare_sleep() ((void)0)
#define nap() ((void)0)
#endif

int mote_port_read(void) {
    const int byte = mote_read();
    if (byte < 0) nap();
    return byte;
}

void mote_port_write(const uint8_t *data, uint32_t bytes) {
    while (bytes-- != 0) mote_put((char)*data++);
}

/* An energy meter's pin is the board's: a function of this name in a file of yours toggles it. */
__attribute__((weak)) void mote_port_mark(unsigned step) { (void)step; }

void mote_port_restart(void) {
#if defined(__arm__)
    __asm__ volatile("dsb" : : : "memory");
    MOTE_REGISTER(0xE000ED0Cu) = 0x05FA0004u; /* AIRCR.SYSRESETREQ */
    for (;;) {
    }
#else
    mote_start();
#endif
}

static void forget_code(void) {
#if defined(__arm__)
    __asm__ volatile("dsb" : : : "memory");
#ifdef MOTE_PART_CACHES
    MOTE_REGISTER(0xE000EF50u) = 0; /* ICIALLU */
    __asm__ volatile("dsb" : : : "memory");
#endif
    __asm__ volatile("isb" : : : "memory");
#elif defined(__riscv)
    __asm__ volatile(".word 0x0000100f" : : : "memory"); /* fence.i */
#endif
}

void mote_port_fresh_caches(void) { forget_code(); }

void mote_port_new_code(void) { forget_code(); }

void mote_port_identify(mote_agent_identity *identity) {
    identity->core = mote_core_id();
    identity->clock_hz = MOTE_PART_CLOCK;
    identity->counter_hz = MOTE_PART_COUNTER_HZ;
    identity->counter = MOTE_PART_COUNTER;
    identity->flash_waits = MOTE_PART_WAITS;
    identity->boots = boots;
}

const char *mote_port_target(void) { return MOTE_PART_NAME; }

void *mote_port_scratch(uint32_t *bytes) {
#if MOTE_AGENT_SCRATCH_BYTES
    static uint64_t scratch[(MOTE_AGENT_SCRATCH_BYTES + 7) / 8] __attribute__((aligned(16)));
    *bytes = sizeof scratch;
    return scratch;
#else
    *bytes = 0;
    return 0;
#endif
}

void *mote_port_image(uint32_t *bytes) {
#if MOTE_AGENT_IMAGE_BYTES
    static uint64_t image[(MOTE_AGENT_IMAGE_BYTES + 7) / 8];
    *bytes = sizeof image;
    return image;
#else
    *bytes = 0;
    return 0;
#endif
}

int mote_port_memory(uint32_t index, uint32_t *address, uint32_t *bytes) {
    static const uint32_t memories[][2] = {MOTE_PART_MEMORIES};
    if (index >= sizeof memories / sizeof *memories) return 0;
    *address = memories[index][0];
    *bytes = memories[index][1];
    return 1;
}

uint8_t *mote_port_stack(void) { return mote_stack_bottom; }

int main(void) {
    boots++;
    start_counter();
    prepare_sleep();
    mote_agent_reset();
    for (;;) mote_agent_poll();
}
