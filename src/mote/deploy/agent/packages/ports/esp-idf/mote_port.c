/* The agent on ESP-IDF. Kconfig chooses the line: a UART, the USB port of the part's own (USB Serial/JTAG), or a debug
 * probe; and a pin for an energy meter. */
#include <esp_attr.h>
#include <esp_clk_tree.h>
#include <esp_cpu.h>
#include <esp_system.h>
#include <freertos/FreeRTOS.h>
#include <freertos/task.h>
#include <sdkconfig.h>

#include "mote_agent.h"

#if CONFIG_MOTE_AGENT_MARK_GPIO >= 0
#include <driver/gpio.h>
#endif

enum { IDLE_MS = 20, RECEIVED = 128 };

static RTC_NOINIT_ATTR uint32_t boots;
static StackType_t stack[CONFIG_MOTE_AGENT_STACK_SIZE / sizeof(StackType_t)];
static StaticTask_t task;

#if defined(CONFIG_MOTE_AGENT_RTT)
#include "mote_rtt.h"

static void start_line(void) { mote_rtt_start(); }

int mote_port_read(void) { return mote_rtt_read(); }

void mote_port_write(const uint8_t *data, uint32_t bytes) { mote_rtt_write(data, bytes); }
#else
#if defined(CONFIG_MOTE_AGENT_USB)
#include <driver/usb_serial_jtag.h>

static void start_line(void) {
    usb_serial_jtag_driver_config_t config = {.tx_buffer_size = 2 * MOTE_AGENT_FRAME,
                                              .rx_buffer_size = 2 * MOTE_AGENT_FRAME};
    ESP_ERROR_CHECK(usb_serial_jtag_driver_install(&config));
}

static int take(uint8_t *to, uint32_t bytes, TickType_t ticks) {
    return usb_serial_jtag_read_bytes(to, bytes, ticks);
}

static int give(const uint8_t *from, uint32_t bytes) {
    return usb_serial_jtag_write_bytes(from, bytes, pdMS_TO_TICKS(IDLE_MS));
}
#else
#include <driver/uart.h>

#define LINE ((uart_port_t)CONFIG_MOTE_AGENT_UART_NUMBER)

static void start_line(void) {
    const uart_config_t config = {.baud_rate = CONFIG_MOTE_AGENT_BAUD,
                                  .data_bits = UART_DATA_8_BITS,
                                  .parity = UART_PARITY_DISABLE,
                                  .stop_bits = UART_STOP_BITS_1,
                                  .flow_ctrl = UART_HW_FLOWCTRL_DISABLE,
                                  .source_clk = UART_SCLK_DEFAULT};
    ESP_ERROR_CHECK(uart_driver_install(LINE, 2 * MOTE_AGENT_FRAME + 256, 0, 0, NULL, 0));
    ESP_ERROR_CHECK(uart_param_config(LINE, &config));
    ESP_ERROR_CHECK(uart_set_pin(LINE, CONFIG_MOTE_AGENT_TX_GPIO, CONFIG_MOTE_AGENT_RX_GPIO, UART_PIN_NO_CHANGE,
                                 UART_PIN_NO_CHANGE));
}

static int take(uint8_t *to, uint32_t bytes, TickType_t ticks) { return uart_read_bytes(LINE, to, bytes, ticks); }

static int give(const uint8_t *from, uint32_t bytes) { return uart_write_bytes(LINE, from, bytes); }
#endif

/* Waits a little where there is nothing, so that the idle task runs. */
int mote_port_read(void) {
    static uint8_t received[RECEIVED];
    static int taken, filled;
    if (taken == filled) {
        taken = 0;
        filled = take(received, 1, pdMS_TO_TICKS(IDLE_MS));
        if (filled <= 0) {
            filled = 0;
            return -1;
        }
        const int more = take(received + 1, RECEIVED - 1, 0);
        filled += more > 0 ? more : 0;
    }
    return received[taken++];
}

void mote_port_write(const uint8_t *data, uint32_t bytes) {
    while (bytes > 0) {
        const int count = give(data, bytes);
        if (count <= 0) { /* nobody reads: the rest is lost, and asked for again */
            return;
        }
        data += count;
        bytes -= (uint32_t)count;
    }
}
#endif

uint32_t mote_port_cycles(void) { return (uint32_t)esp_cpu_get_cycle_count(); }

void mote_port_mark(unsigned step) {
    (void)step;
#if CONFIG_MOTE_AGENT_MARK_GPIO >= 0
    static uint32_t level;
    level ^= 1u;
    (void)gpio_set_level((gpio_num_t)CONFIG_MOTE_AGENT_MARK_GPIO, level);
#endif
}

void mote_port_restart(void) {
    vTaskDelay(pdMS_TO_TICKS(IDLE_MS)); /* for the answer to leave */
    esp_restart();
}

/* Flash is read through caches that ESP-IDF itself owns. */
void mote_port_fresh_caches(void) {}

void mote_port_new_code(void) {}

void mote_port_identify(mote_agent_identity *identity) {
    uint32_t hz = 0;
    (void)esp_clk_tree_src_get_freq_hz(SOC_MOD_CLK_CPU, ESP_CLK_TREE_SRC_FREQ_PRECISION_CACHED, &hz);
    identity->core = 0;
    identity->clock_hz = hz;
    identity->counter = MOTE_COUNTER_HOOK;
    identity->counter_hz = hz;
    identity->flash_waits = 0xffffffffu;
    identity->boots = boots;
}

uint8_t *mote_port_stack(void) { return (uint8_t *)stack; }

static void serve(void *context) {
    (void)context;
    mote_agent_reset();
    for (;;) {
        mote_agent_poll();
    }
}

void app_main(void);

/* The agent has a task of its own, on the last core, which has less to do. */
void app_main(void) {
    boots++;
#if CONFIG_MOTE_AGENT_MARK_GPIO >= 0
    (void)gpio_reset_pin((gpio_num_t)CONFIG_MOTE_AGENT_MARK_GPIO);
    (void)gpio_set_direction((gpio_num_t)CONFIG_MOTE_AGENT_MARK_GPIO, GPIO_MODE_OUTPUT);
#endif
    start_line();
    (void)xTaskCreateStaticPinnedToCore(serve, "mote_agent", sizeof stack / sizeof stack[0], NULL, 5, stack, &task,
                                        portNUM_PROCESSORS - 1);
}
