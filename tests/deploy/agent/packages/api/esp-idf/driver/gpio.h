#include <stdint.h>

#include "esp_err.h"

typedef int gpio_num_t;
typedef enum { GPIO_MODE_OUTPUT = 2 } gpio_mode_t;

static inline esp_err_t gpio_reset_pin(gpio_num_t gpio_num) { return gpio_num < 0; }
static inline esp_err_t gpio_set_direction(gpio_num_t gpio_num, gpio_mode_t mode) { return gpio_num < 0 || mode == 0; }
static inline esp_err_t gpio_set_level(gpio_num_t gpio_num, uint32_t level) { return gpio_num < 0 || level > 1u; }
