#include "esp_err.h"
#include "line.h"

typedef struct {
    uint32_t tx_buffer_size, rx_buffer_size;
} usb_serial_jtag_driver_config_t;

static inline esp_err_t usb_serial_jtag_driver_install(usb_serial_jtag_driver_config_t *config) {
    return config->tx_buffer_size > 0 && config->rx_buffer_size > 0 ? ESP_OK : -1;
}

static inline int usb_serial_jtag_read_bytes(void *buf, uint32_t length, uint32_t ticks_to_wait) {
    return line_take(buf, length, (int)ticks_to_wait * 10);
}

static inline int usb_serial_jtag_write_bytes(const void *src, size_t size, uint32_t ticks_to_wait) {
    (void)ticks_to_wait;
    return line_give(src, (uint32_t)size);
}
