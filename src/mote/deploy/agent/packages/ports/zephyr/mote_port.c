/* The agent on Zephyr. Kconfig chooses the line: a UART (that of the console, or the one that the devicetree names
 * `mote,agent`, which may be a USB one) or a debug probe. The alias `mote-mark` is the pin for an energy meter. */
#include <zephyr/cache.h>
#include <zephyr/device.h>
#include <zephyr/devicetree.h>
#include <zephyr/drivers/gpio.h>
#include <zephyr/drivers/uart.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/barrier.h>
#include <zephyr/sys/reboot.h>

#include "mote_agent.h"
#include "mote_counter.h"

static __noinit uint32_t boots;
static uint32_t core_hz; /* 0: the core has no counter, and the system's is used */

#if defined(CONFIG_MOTE_AGENT_RTT)
#include "mote_rtt.h"

static void start_line(void) { mote_rtt_start(); }

int mote_port_read(void) { return mote_rtt_read(); }

void mote_port_write(const uint8_t *data, uint32_t bytes) { mote_rtt_write(data, bytes); }
#else
#if DT_HAS_CHOSEN(mote_agent)
#define LINE DT_CHOSEN(mote_agent)
#else
#define LINE DT_CHOSEN(zephyr_console)
#endif

static const struct device *const line = DEVICE_DT_GET(LINE);

#if defined(CONFIG_UART_INTERRUPT_DRIVEN)
#define RING (2u * MOTE_AGENT_FRAME)

static uint8_t ring[RING];
static volatile uint32_t put, got; /* modulo RING: the interrupt moves `put`, the agent `got` */

static void received(const struct device *device, void *context) {
    ARG_UNUSED(context);
    uart_irq_update(device);
    uint8_t byte;
    while (uart_irq_rx_ready(device) > 0 && uart_fifo_read(device, &byte, 1) == 1) {
        const uint32_t next = put + 1u < RING ? put + 1u : 0u;
        if (next != got) { /* what does not fit is lost, as on any line, and asked for again */
            ring[put] = byte;
            put = next;
        }
        uart_irq_update(device);
    }
}

static void start_line(void) {
    (void)uart_irq_callback_user_data_set(line, received, NULL);
    uart_irq_rx_enable(line);
}

int mote_port_read(void) {
    if (got == put) {
        return -1;
    }
    const uint8_t byte = ring[got];
    got = got + 1u < RING ? got + 1u : 0u;
    return byte;
}
#else
static void start_line(void) {}

int mote_port_read(void) {
    unsigned char byte;
    return uart_poll_in(line, &byte) == 0 ? byte : -1;
}
#endif

void mote_port_write(const uint8_t *data, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; i++) {
        uart_poll_out(line, data[i]);
    }
}
#endif

#if DT_HAS_ALIAS(mote_mark)
static const struct gpio_dt_spec mark = GPIO_DT_SPEC_GET(DT_ALIAS(mote_mark), gpios);

static void start_mark(void) { (void)gpio_pin_configure_dt(&mark, GPIO_OUTPUT_INACTIVE); }

void mote_port_mark(unsigned step) {
    ARG_UNUSED(step);
    (void)gpio_pin_toggle_dt(&mark);
}
#else
static void start_mark(void) {}

void mote_port_mark(unsigned step) { ARG_UNUSED(step); }
#endif

/* The core's clock, by the system's. */
static uint32_t measured_hz(void) {
    const uint32_t hz = sys_clock_hw_cycles_per_sec(), began = k_cycle_get_32(), from = mote_counter_read();
    uint32_t passed;
    do {
        passed = k_cycle_get_32() - began;
    } while (passed < hz / 100u);
    const uint32_t counted = mote_counter_read() - from;
    return (uint32_t)((uint64_t)counted * hz / passed);
}

uint32_t mote_port_cycles(void) { return core_hz > 0 ? mote_counter_read() : k_cycle_get_32(); }

void mote_port_restart(void) {
    k_msleep(10); /* for the answer to leave */
    sys_reboot(SYS_REBOOT_COLD);
}

void mote_port_fresh_caches(void) {
    (void)sys_cache_data_flush_and_invd_all();
    (void)sys_cache_instr_invd_all();
}

void mote_port_new_code(void) {
    (void)sys_cache_data_flush_all();
    (void)sys_cache_instr_invd_all();
    barrier_dsync_fence_full();
    barrier_isync_fence_full();
}

void mote_port_identify(mote_agent_identity *identity) {
    const uint32_t system_hz = sys_clock_hw_cycles_per_sec();
    identity->core = mote_core_id();
    identity->clock_hz = core_hz > 0 ? core_hz : system_hz;
    identity->counter = core_hz > 0 ? MOTE_COUNTER : MOTE_COUNTER_HOOK;
    identity->counter_hz = identity->clock_hz;
    identity->flash_waits = 0xffffffffu;
    identity->boots = boots;
}

uint8_t *mote_port_stack(void) {
#if defined(CONFIG_THREAD_STACK_INFO)
    /* With CONFIG_STACK_SENTINEL the first word is the system's. */
    return (uint8_t *)k_current_get()->stack_info.start + 8;
#else
    return NULL;
#endif
}

int main(void) {
    boots++;
    if (mote_counter_start()) {
        core_hz = measured_hz();
    }
    start_mark();
    start_line();
    mote_agent_reset();
    for (;;) {
        mote_agent_poll();
    }
}
