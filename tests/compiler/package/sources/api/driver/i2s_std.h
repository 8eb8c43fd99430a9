/* driver/i2s_std.h: what sources use of it, declared from the documentation of ESP-IDF. */
#ifndef TEST_I2S_STD_H
#define TEST_I2S_STD_H

#include "driver/i2s_common.h"

typedef struct {
    uint32_t rate;
} i2s_std_config_t;
esp_err_t i2s_channel_init_std_mode(i2s_chan_handle_t handle, const i2s_std_config_t *std_cfg);

#endif
