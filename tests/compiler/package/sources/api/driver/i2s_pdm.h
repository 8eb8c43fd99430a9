/* driver/i2s_pdm.h: what sources use of it, declared from the documentation of ESP-IDF. */
#ifndef TEST_I2S_PDM_H
#define TEST_I2S_PDM_H

#include "driver/i2s_common.h"

typedef struct {
    uint32_t rate;
} i2s_pdm_rx_config_t;
esp_err_t i2s_channel_init_pdm_rx_mode(i2s_chan_handle_t handle, const i2s_pdm_rx_config_t *pdm_rx_cfg);

#endif
