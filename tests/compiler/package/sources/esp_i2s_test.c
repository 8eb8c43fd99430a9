/* ESP-IDF's I2S driver, with six DMA buffers of which the oldest is overwritten. */
#include "expect.h"
#include "mote_esp_i2s.h"

enum { COUNT = 64, PIECE = 48, BUFFERS = 6, NEW = 1, MODE, CALLBACKS, ENABLE, READ };

struct i2s_channel_obj_t {
    int enabled;
};
static struct i2s_channel_obj_t channel;
static int16_t pieces[BUFFERS][PIECE], next;
static int queued, fails, channels, mode_set;
static size_t at;
static i2s_event_callbacks_t set;
static void *context;
static mote_esp_i2s_t microphone;

esp_err_t i2s_new_channel(const i2s_chan_config_t *config, i2s_chan_handle_t *tx, i2s_chan_handle_t *rx) {
    EXPECT(config != NULL && tx == NULL);
    if (fails == NEW) return ESP_ERR_NOT_FOUND;
    channels++;
    queued = 0;
    at = 0;
    *rx = &channel;
    return ESP_OK;
}
esp_err_t i2s_del_channel(i2s_chan_handle_t handle) {
    EXPECT(handle == &channel && !channel.enabled);
    channels--;
    return ESP_OK;
}
esp_err_t i2s_channel_init_std_mode(i2s_chan_handle_t handle, const i2s_std_config_t *config) {
    EXPECT(handle == &channel && config->rate == 16000);
    mode_set = 1;
    return fails == MODE ? ESP_ERR_INVALID_ARG : ESP_OK;
}
#if SOC_I2S_SUPPORTS_PDM_RX
esp_err_t i2s_channel_init_pdm_rx_mode(i2s_chan_handle_t handle, const i2s_pdm_rx_config_t *config) {
    EXPECT(handle == &channel && config->rate == 16000);
    mode_set = 2;
    return fails == MODE ? ESP_ERR_INVALID_ARG : ESP_OK;
}
#endif
esp_err_t i2s_channel_register_event_callback(i2s_chan_handle_t handle, const i2s_event_callbacks_t *callbacks, void *given) {
    EXPECT(handle == &channel && callbacks->on_recv == NULL && callbacks->on_sent == NULL);
    set = *callbacks;
    context = given;
    return fails == CALLBACKS ? ESP_ERR_INVALID_STATE : ESP_OK;
}
esp_err_t i2s_channel_enable(i2s_chan_handle_t handle) {
    if (fails == ENABLE) return ESP_ERR_INVALID_STATE;
    handle->enabled = 1;
    return ESP_OK;
}
esp_err_t i2s_channel_disable(i2s_chan_handle_t handle) {
    handle->enabled = 0;
    return ESP_OK;
}
esp_err_t i2s_channel_read(i2s_chan_handle_t handle, void *dest, size_t size, size_t *bytes_read, uint32_t timeout_ms) {
    EXPECT(handle == &channel && timeout_ms == 3);
    *bytes_read = 0;
    if (fails == READ) return ESP_ERR_INVALID_STATE;
    while (size > 0 && queued > 0) {
        const size_t left = sizeof pieces[0] - at, n = size < left ? size : left;
        memcpy((uint8_t *)dest + *bytes_read, (const uint8_t *)pieces[0] + at, n);
        *bytes_read += n;
        size -= n;
        at += n;
        if (at == sizeof pieces[0]) {
            at = 0;
            memmove(pieces[0], pieces[1], sizeof pieces - sizeof pieces[0]);
            queued--;
        }
    }
    return size == 0 ? ESP_OK : ESP_ERR_TIMEOUT;
}
static void sound(void) {
    if (queued == BUFFERS) {
        i2s_event_data_t event = {NULL, sizeof pieces[0]};
        EXPECT(set.on_recv_q_ovf(&channel, &event, context) == false);
        memmove(pieces[0], pieces[1], sizeof pieces - sizeof pieces[0]);
        queued--;
    }
    for (int i = 0; i < PIECE; i++) pieces[queued][i] = next++;
    queued++;
}

int main(void) {
    static int16_t memory[COUNT];
    mote_source_t *source = &microphone.source;
    const i2s_chan_config_t given = {0, 0, BUFFERS, PIECE};
    const i2s_std_config_t standard = {16000};
#if SOC_I2S_SUPPORTS_PDM_RX
    const i2s_pdm_rx_config_t pdm = {16000};
    const int modes = 2;
#else
    const void *pdm = NULL;
    const int modes = 1;
#endif
    const void *data = NULL;
    for (int mode = 1; mode <= modes; mode++) {
        mote_esp_i2s_config_t config = {&given, mode == 1 ? &standard : NULL, NULL, memory, COUNT, 3};
        int16_t expected = 0;
        if (mode == 2) config.pdm = (const MOTE_ESP_I2S_PDM *)&pdm;
        mote_esp_i2s(&microphone, &config);
        EXPECT(mote_source_read(source, &data) == MOTE_SOURCE_STOPPED && mote_source_stop(source) == MOTE_SOURCE_OK);
        for (fails = NEW; fails <= ENABLE; fails++)
            EXPECT(mote_source_start(source) == MOTE_SOURCE_FAILED && source->error != ESP_OK && channels == 0);
        fails = 0;
        EXPECT(mote_source_start(source) == MOTE_SOURCE_OK && mote_source_start(source) == MOTE_SOURCE_OK);
        EXPECT(channels == 1 && mode_set == mode && mote_source_read(source, &data) == 0);
        next = 0;
        for (int i = 0; i < 300; i++) { /* pieces and blocks have different sizes */
            int32_t n;
            sound();
            while ((n = mote_source_read(source, &data)) != 0) {
                EXPECT(n == COUNT);
                for (int k = 0; k < COUNT; k++) EXPECT(((const int16_t *)data)[k] == expected++);
            }
        }
        EXPECT(expected == 300 * PIECE && source->lost == 0);
        for (int i = 0; i < BUFFERS + 3; i++) sound();
        EXPECT(mote_source_read(source, &data) == COUNT && source->lost == 3);
        EXPECT(((const int16_t *)data)[0] == (int16_t)(expected + 3 * PIECE));
        fails = READ;
        EXPECT(mote_source_read(source, &data) == MOTE_SOURCE_FAILED && source->error == ESP_ERR_INVALID_STATE);
        fails = 0;
        EXPECT(mote_source_stop(source) == MOTE_SOURCE_OK && channels == 0);
        EXPECT(mote_source_start(source) == MOTE_SOURCE_OK && source->lost == 0);
        EXPECT(mote_source_stop(source) == MOTE_SOURCE_OK);
        config.standard = NULL;
        config.pdm = NULL;
        mote_esp_i2s(&microphone, &config);
        EXPECT(mote_source_start(source) == MOTE_SOURCE_FAILED && source->error == ESP_ERR_INVALID_ARG && channels == 0);
    }
    (void)pdm;
    puts("passed");
    return 0;
}
