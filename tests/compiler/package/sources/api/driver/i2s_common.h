/* driver/i2s_common.h: what sources use of it, declared from the documentation of ESP-IDF. */
#ifndef TEST_I2S_COMMON_H
#define TEST_I2S_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "esp_err.h"

typedef struct i2s_channel_obj_t *i2s_chan_handle_t;
typedef struct {
    void *dma_buf;
    size_t size;
} i2s_event_data_t;
typedef bool (*i2s_isr_callback_t)(i2s_chan_handle_t handle, i2s_event_data_t *event, void *user_ctx);
typedef struct {
    i2s_isr_callback_t on_recv, on_recv_q_ovf, on_sent, on_send_q_ovf;
} i2s_event_callbacks_t;
typedef struct {
    int id, role;
    uint32_t dma_desc_num, dma_frame_num;
} i2s_chan_config_t;
esp_err_t i2s_new_channel(const i2s_chan_config_t *chan_cfg, i2s_chan_handle_t *ret_tx_handle,
                          i2s_chan_handle_t *ret_rx_handle);
esp_err_t i2s_del_channel(i2s_chan_handle_t handle);
esp_err_t i2s_channel_enable(i2s_chan_handle_t handle);
esp_err_t i2s_channel_disable(i2s_chan_handle_t handle);
esp_err_t i2s_channel_read(i2s_chan_handle_t handle, void *dest, size_t size, size_t *bytes_read, uint32_t timeout_ms);
esp_err_t i2s_channel_register_event_callback(i2s_chan_handle_t handle, const i2s_event_callbacks_t *callbacks,
                                              void *user_data);

#endif
