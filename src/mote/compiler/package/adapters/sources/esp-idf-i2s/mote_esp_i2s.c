/* mote_esp_i2s.c: see mote_esp_i2s.h. */
#include "mote_esp_i2s.h"

#include <string.h>

#include "esp_attr.h"
#include "esp_err.h"

/* In an interrupt: the oldest of the DMA's buffers was overwritten. */
static bool IRAM_ATTR on_overflow(i2s_chan_handle_t handle, i2s_event_data_t *event, void *context) {
    mote_esp_i2s_t *i2s = (mote_esp_i2s_t *)context;
    (void)handle;
    (void)event;
    i2s->overflows = i2s->overflows + 1u;
    return false; /* no task was woken */
}

static esp_err_t set_mode(const mote_esp_i2s_t *i2s) {
    const mote_esp_i2s_config_t *config = &i2s->config;
    if ((config->standard == NULL) == (config->pdm == NULL)) return ESP_ERR_INVALID_ARG;
    if (config->standard != NULL) return i2s_channel_init_std_mode(i2s->handle, config->standard);
#if SOC_I2S_SUPPORTS_PDM_RX
    return i2s_channel_init_pdm_rx_mode(i2s->handle, config->pdm);
#else
    return ESP_ERR_NOT_SUPPORTED;
#endif
}

static mote_source_status start(mote_source_t *source) {
    mote_esp_i2s_t *i2s = (mote_esp_i2s_t *)source;
    i2s_event_callbacks_t callbacks;
    esp_err_t code;
    if (i2s->running != 0u) return MOTE_SOURCE_OK;
    source->lost = 0;
    i2s->at = 0;
    i2s->overflows_before = i2s->overflows;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.on_recv_q_ovf = on_overflow;
    code = i2s_new_channel(i2s->config.channel, NULL, &i2s->handle);
    if (code == ESP_OK) {
        code = set_mode(i2s);
        if (code == ESP_OK) code = i2s_channel_register_event_callback(i2s->handle, &callbacks, i2s);
        if (code == ESP_OK) code = i2s_channel_enable(i2s->handle);
        if (code != ESP_OK) (void)i2s_del_channel(i2s->handle);
    }
    source->error = code;
    if (code != ESP_OK) return MOTE_SOURCE_FAILED;
    i2s->running = 1;
    return MOTE_SOURCE_OK;
}

/* A block that is not whole when the time is over is continued by the next read. */
static int32_t read_block(mote_source_t *source, const void **data) {
    mote_esp_i2s_t *i2s = (mote_esp_i2s_t *)source;
    const size_t bytes = sizeof(int16_t) * i2s->config.count;
    const uint32_t overflows = i2s->overflows - i2s->overflows_before;
    size_t got = 0;
    esp_err_t code;
    if (i2s->running == 0u) return MOTE_SOURCE_STOPPED;
    source->lost += overflows;
    i2s->overflows_before += overflows;
    code = i2s_channel_read(i2s->handle, (uint8_t *)i2s->config.memory + i2s->at, bytes - i2s->at, &got, i2s->config.wait);
    if (code != ESP_OK && code != ESP_ERR_TIMEOUT) {
        source->error = code;
        return MOTE_SOURCE_FAILED;
    }
    i2s->at += got;
    if (i2s->at < bytes) return 0;
    i2s->at = 0;
    *data = i2s->config.memory;
    return (int32_t)i2s->config.count;
}

static mote_source_status stop(mote_source_t *source) {
    mote_esp_i2s_t *i2s = (mote_esp_i2s_t *)source;
    esp_err_t disabled, deleted;
    if (i2s->running == 0u) return MOTE_SOURCE_OK;
    i2s->running = 0;
    disabled = i2s_channel_disable(i2s->handle);
    deleted = i2s_del_channel(i2s->handle);
    source->error = disabled != ESP_OK ? disabled : deleted;
    return source->error == ESP_OK ? MOTE_SOURCE_OK : MOTE_SOURCE_FAILED;
}

void mote_esp_i2s(mote_esp_i2s_t *i2s, const mote_esp_i2s_config_t *config) {
    memset(i2s, 0, sizeof *i2s);
    i2s->config = *config;
    i2s->source.start = start;
    i2s->source.read = read_block;
    i2s->source.stop = stop;
}
