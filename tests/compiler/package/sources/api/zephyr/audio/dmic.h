/* zephyr/audio/dmic.h: what sources use of it, declared from Zephyr's documentation. */
#ifndef ZEPHYR_INCLUDE_AUDIO_DMIC_H_
#define ZEPHYR_INCLUDE_AUDIO_DMIC_H_

#include <zephyr/kernel.h>

enum dmic_trigger {
    DMIC_TRIGGER_STOP,
    DMIC_TRIGGER_START,
    DMIC_TRIGGER_PAUSE,
    DMIC_TRIGGER_RELEASE,
    DMIC_TRIGGER_RESET,
};
struct pdm_io_cfg {
    uint32_t min_pdm_clk_freq, max_pdm_clk_freq;
    uint8_t min_pdm_clk_dc, max_pdm_clk_dc, pdm_clk_pol, pdm_data_pol;
    uint32_t pdm_clk_skew;
};
struct pcm_stream_cfg {
    uint32_t pcm_rate;
    uint8_t pcm_width;
    uint16_t block_size;
    struct k_mem_slab *mem_slab;
};
struct pdm_chan_cfg {
    uint32_t req_chan_map_lo, req_chan_map_hi, act_chan_map_lo, act_chan_map_hi;
    uint8_t req_num_chan, act_num_chan, req_num_streams, act_num_streams;
};
struct dmic_cfg {
    struct pdm_io_cfg io;
    struct pcm_stream_cfg *streams;
    struct pdm_chan_cfg channel;
};
int dmic_configure(const struct device *dev, struct dmic_cfg *cfg);
int dmic_trigger(const struct device *dev, enum dmic_trigger cmd);
int dmic_read(const struct device *dev, uint8_t stream, void **buffer, size_t *size, int32_t timeout);

#endif
