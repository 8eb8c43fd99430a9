/* mote_esp_i2s.h: a microphone at an I2S port of an ESP32 as a source: ESP-IDF's driver (esp_driver_i2s, ESP-IDF 5.0 and
 * later), in standard mode or, where the part has it, PDM.
 *
 *     static int16_t block[320];
 *     static mote_esp_i2s_t microphone;
 *     const i2s_chan_config_t channel = I2S_CHANNEL_DEFAULT_CONFIG(I2S_NUM_0, I2S_ROLE_MASTER);
 *     const i2s_pdm_rx_config_t pdm = {
 *         .clk_cfg = I2S_PDM_RX_CLK_DEFAULT_CONFIG(16000),
 *         .slot_cfg = I2S_PDM_RX_SLOT_DEFAULT_CONFIG(I2S_DATA_BIT_WIDTH_16BIT, I2S_SLOT_MODE_MONO),
 *         .gpio_cfg = {.clk = GPIO_NUM_42, .din = GPIO_NUM_41}};
 *     const mote_esp_i2s_config_t config = {&channel, NULL, &pdm, block, 320, 100};
 *     mote_esp_i2s(&microphone, &config);
 *
 * The driver has the buffers of the DMA, dma_desc_num of dma_frame_num frames: as many as bridge the longest time between
 * two reads. Data has 16 bits; of a microphone with wider words, take slots of 32 bits with 16 bits of data. */
#ifndef MOTE_ESP_I2S_H
#define MOTE_ESP_I2S_H

#include "driver/i2s_common.h"
#include "driver/i2s_std.h"
#include "soc/soc_caps.h"
#if SOC_I2S_SUPPORTS_PDM_RX
#include "driver/i2s_pdm.h"
#define MOTE_ESP_I2S_PDM i2s_pdm_rx_config_t
#else
#define MOTE_ESP_I2S_PDM void
#endif

#include "mote_source.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the pointers lead to is read at each start. */
typedef struct {
    const i2s_chan_config_t *channel;
    const i2s_std_config_t *standard; /* one of the two modes; the other one is NULL */
    const MOTE_ESP_I2S_PDM *pdm;
    int16_t *memory; /* of `count` values */
    uint32_t count;  /* values of a block */
    uint32_t wait;   /* milliseconds that a read waits for data; 0: none */
} mote_esp_i2s_config_t;

typedef struct {
    mote_source_t source;
    mote_esp_i2s_config_t config;
    i2s_chan_handle_t handle;
    size_t at;                   /* bytes of the block that were read */
    volatile uint32_t overflows; /* written by the interrupt */
    uint32_t overflows_before;
    uint8_t running;
} mote_esp_i2s_t;

/* Makes a source that does not run yet. With CONFIG_I2S_ISR_IRAM_SAFE it must lie in internal memory. */
void mote_esp_i2s(mote_esp_i2s_t *i2s, const mote_esp_i2s_config_t *config);

#ifdef __cplusplus
}
#endif

#endif
