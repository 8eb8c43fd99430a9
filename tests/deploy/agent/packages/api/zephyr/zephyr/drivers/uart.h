#ifndef ZEPHYR_INCLUDE_DRIVERS_UART_H_
#define ZEPHYR_INCLUDE_DRIVERS_UART_H_

#include "line.h"

typedef void (*uart_irq_callback_user_data_t)(const struct device *dev, void *user_data);

static inline int uart_poll_in(const struct device *dev, unsigned char *byte) {
    (void)dev;
    return line_take(byte, 1, 1) == 1 ? 0 : -1;
}

static inline void uart_poll_out(const struct device *dev, unsigned char byte) {
    (void)dev;
    (void)line_give(&byte, 1);
}

int uart_irq_callback_user_data_set(const struct device *dev, uart_irq_callback_user_data_t cb, void *user_data);
void uart_irq_rx_enable(const struct device *dev);
int uart_irq_rx_ready(const struct device *dev);
int uart_fifo_read(const struct device *dev, uint8_t *rx_data, const int size);
void uart_irq_update(const struct device *dev);

#endif
