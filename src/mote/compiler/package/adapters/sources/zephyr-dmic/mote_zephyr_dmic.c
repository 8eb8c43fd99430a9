/* mote_zephyr_dmic.c: see mote_zephyr_dmic.h. */
#include "mote_zephyr_dmic.h"

#include <errno.h>
#include <string.h>

#define SETTLING_MS 250u /* before the first block of a microphone that was just started */

static mote_source_status failed(mote_zephyr_dmic_t *dmic, int code) {
    dmic->source.error = code;
    return MOTE_SOURCE_FAILED;
}

static uint32_t block_ms(const mote_zephyr_dmic_t *dmic) {
    const struct pcm_stream_cfg *stream = &dmic->config->streams[0];
    const uint32_t frame = 2u * (uint32_t)dmic->config->channel.req_num_chan;
    const uint32_t ms = (uint32_t)stream->block_size / frame * 1000u / stream->pcm_rate;
    return ms == 0u ? 1u : ms;
}

static int begin(mote_zephyr_dmic_t *dmic) {
    int code = dmic_configure(dmic->device, dmic->config);
    if (code >= 0) code = dmic_trigger(dmic->device, DMIC_TRIGGER_START);
    dmic->last = k_uptime_get_32();
    return code < 0 ? code : 0;
}

static void give_back(mote_zephyr_dmic_t *dmic) {
    if (dmic->held != NULL) k_mem_slab_free(dmic->config->streams[0].mem_slab, dmic->held);
    dmic->held = NULL;
}

/* Blocks that the driver has filled are given back to the slab. */
static void drain(mote_zephyr_dmic_t *dmic) {
    size_t bytes;
    while (dmic_read(dmic->device, 0, &dmic->held, &bytes, 0) == 0) give_back(dmic);
    dmic->held = NULL;
}

static mote_source_status start(mote_source_t *source) {
    mote_zephyr_dmic_t *dmic = (mote_zephyr_dmic_t *)source;
    int code;
    if (dmic->running != 0u) return MOTE_SOURCE_OK;
    source->lost = 0;
    if (!device_is_ready(dmic->device)) return failed(dmic, -ENODEV);
    if (dmic->config->streams[0].pcm_width != 16u || dmic->config->streams[0].pcm_rate == 0u
        || dmic->config->channel.req_num_chan == 0u)
        return failed(dmic, -EINVAL);
    code = begin(dmic);
    if (code != 0) return failed(dmic, code);
    dmic->running = 1;
    return MOTE_SOURCE_OK;
}

/* After a driver has run out of blocks: what was missed is counted. */
static int32_t restart(mote_zephyr_dmic_t *dmic) {
    const uint32_t missed = (k_uptime_get_32() - dmic->last) / block_ms(dmic);
    int code;
    dmic->source.lost += missed == 0u ? 1u : missed;
    (void)dmic_trigger(dmic->device, DMIC_TRIGGER_STOP); /* an error of one that has stopped already means nothing */
    drain(dmic);
    code = begin(dmic);
    return code == 0 ? 0 : (int32_t)failed(dmic, code);
}

static int32_t read_block(mote_source_t *source, const void **data) {
    mote_zephyr_dmic_t *dmic = (mote_zephyr_dmic_t *)source;
    size_t bytes = 0;
    int code;
    if (dmic->running == 0u) return MOTE_SOURCE_STOPPED;
    give_back(dmic);
    code = dmic_read(dmic->device, 0, &dmic->held, &bytes, dmic->wait);
    if (code == 0) {
        dmic->last = k_uptime_get_32();
        *data = dmic->held;
        return (int32_t)(bytes / 2u);
    }
    dmic->held = NULL;
    if (code == -EAGAIN || code == -ENOMSG || code == -EBUSY) { /* no block in time */
        const uint32_t silent = k_uptime_get_32() - dmic->last;
        return silent <= 4u * block_ms(dmic) + SETTLING_MS ? 0 : restart(dmic);
    }
    return restart(dmic);
}

static mote_source_status stop(mote_source_t *source) {
    mote_zephyr_dmic_t *dmic = (mote_zephyr_dmic_t *)source;
    int code;
    if (dmic->running == 0u) return MOTE_SOURCE_OK;
    dmic->running = 0;
    give_back(dmic);
    code = dmic_trigger(dmic->device, DMIC_TRIGGER_STOP);
    drain(dmic);
    return code < 0 ? failed(dmic, code) : MOTE_SOURCE_OK;
}

void mote_zephyr_dmic(mote_zephyr_dmic_t *dmic, const struct device *device, struct dmic_cfg *config, int32_t wait) {
    memset(dmic, 0, sizeof *dmic);
    dmic->device = device;
    dmic->config = config;
    dmic->wait = wait;
    dmic->source.start = start;
    dmic->source.read = read_block;
    dmic->source.stop = stop;
}
