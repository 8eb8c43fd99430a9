#ifndef ZEPHYR_INCLUDE_DRIVERS_GPIO_H_
#define ZEPHYR_INCLUDE_DRIVERS_GPIO_H_

#include <stdint.h>

struct gpio_dt_spec {
    const struct device *port;
    uint8_t pin;
    uint16_t dt_flags;
};

#define GPIO_DT_SPEC_GET(node, property) {0, 1, 0}
#define GPIO_OUTPUT_INACTIVE (1u << 17)

static inline int gpio_pin_configure_dt(const struct gpio_dt_spec *spec, uint32_t flags) { return spec->pin && flags ? 0 : 1; }
static inline int gpio_pin_toggle_dt(const struct gpio_dt_spec *spec) { return spec->pin ? 0 : 1; }

#endif
