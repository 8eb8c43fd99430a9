/* mote_zephyr_dmic.h: a digital microphone of Zephyr as a source (CONFIG_AUDIO_DMIC, <zephyr/audio/dmic.h>).
 *
 *     K_MEM_SLAB_DEFINE_STATIC(blocks, 2 * 320, 4, 4); // 20 ms at 16 kHz, four of them
 *     static struct pcm_stream_cfg stream = {.pcm_rate = 16000, .pcm_width = 16, .block_size = 2 * 320,
 *                                            .mem_slab = &blocks};
 *     static struct dmic_cfg config = {.io = {...}, .streams = &stream, .channel = {.req_num_streams = 1,
 *                                      .req_num_chan = 1}};
 *     static mote_zephyr_dmic_t microphone;
 *     config.channel.req_chan_map_lo = dmic_build_channel_map(0, 0, PDM_CHAN_LEFT);
 *     mote_zephyr_dmic(&microphone, DEVICE_DT_GET(DT_NODELABEL(dmic_dev)), &config, 100);
 *
 * The driver fills blocks of the slab. Of these the reader has one, so that the slab needs three at least. A driver that
 * runs out of blocks stops by itself, or reports an error: the source then counts the blocks that are missing and starts
 * it again. */
#ifndef MOTE_ZEPHYR_DMIC_H
#define MOTE_ZEPHYR_DMIC_H

#include <zephyr/audio/dmic.h>
#include <zephyr/kernel.h>

#include "mote_source.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    mote_source_t source;
    const struct device *device;
    struct dmic_cfg *config;
    int32_t wait;  /* milliseconds that a read waits for a block; 0: none */
    void *held;    /* the block that is being read */
    uint32_t last; /* uptime at the last block */
    uint8_t running;
} mote_zephyr_dmic_t;

/* Makes a source that does not run yet. The configuration's first stream is read; its samples have 16 bits. */
void mote_zephyr_dmic(mote_zephyr_dmic_t *dmic, const struct device *device, struct dmic_cfg *config, int32_t wait);

#ifdef __cplusplus
}
#endif

#endif
