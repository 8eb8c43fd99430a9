#include "esp_err.h"
#include "line.h"

typedef int uart_port_t;
typedef void *QueueHandle_t;
typedef enum { UART_DATA_8_BITS = 3 } uart_word_length_t;
typedef enum { UART_PARITY_DISABLE = 0 } uart_parity_t;
typedef enum { UART_STOP_BITS_1 = 1 } uart_stop_bits_t;
typedef enum { UART_HW_FLOWCTRL_DISABLE = 0 } uart_hw_flowcontrol_t;
typedef enum { UART_SCLK_DEFAULT = 1 } uart_sclk_t;
typedef struct {
    int baud_rate;
    uart_word_length_t data_bits;
    uart_parity_t parity;
    uart_stop_bits_t stop_bits;
    uart_hw_flowcontrol_t flow_ctrl;
    uart_sclk_t source_clk;
} uart_config_t;

#define UART_PIN_NO_CHANGE (-1)

static inline esp_err_t uart_driver_install(uart_port_t uart_num, int rx_buffer_size, int tx_buffer_size, int queue_size,
                                            QueueHandle_t *uart_queue, int intr_alloc_flags) {
    (void)uart_num, (void)uart_queue, (void)intr_alloc_flags, (void)queue_size;
    return rx_buffer_size > 128 && (tx_buffer_size == 0 || tx_buffer_size > 128) ? ESP_OK : -1;
}

static inline esp_err_t uart_param_config(uart_port_t uart_num, const uart_config_t *config) {
    return uart_num == 0 && config->baud_rate > 0 ? ESP_OK : -1;
}

static inline esp_err_t uart_set_pin(uart_port_t uart_num, int tx, int rx, int rts, int cts) {
    return uart_num == 0 && tx == -1 && rx == -1 && rts == -1 && cts == -1 ? ESP_OK : -1;
}

static inline int uart_read_bytes(uart_port_t uart_num, void *buf, uint32_t length, uint32_t ticks_to_wait) {
    (void)uart_num;
    return line_take(buf, length, (int)ticks_to_wait * 10);
}

static inline int uart_write_bytes(uart_port_t uart_num, const void *src, size_t size) {
    (void)uart_num;
    return line_give(src, (uint32_t)size);
}
