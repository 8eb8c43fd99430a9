/* mote_dma_source.c: see mote_dma_source.h. */
#include "mote_dma_source.h"

#include <string.h>

static mote_source_status start(mote_source_t *source) {
    mote_dma_source_t *dma = (mote_dma_source_t *)source;
    const uint32_t bytes = dma->config.count * dma->config.value_bytes;
    if (dma->running != 0u) return MOTE_SOURCE_OK;
    source->lost = 0;
    mote_half_buffers_reset(&dma->halves, dma->config.memory, bytes, 1);
    source->error = dma->config.begin(dma->config.context, dma->config.memory, 2u * bytes);
    if (source->error != 0) return MOTE_SOURCE_FAILED;
    dma->running = 1;
    return MOTE_SOURCE_OK;
}

static int32_t read_block(mote_source_t *source, const void **data) {
    mote_dma_source_t *dma = (mote_dma_source_t *)source;
    if (dma->running == 0u) return MOTE_SOURCE_STOPPED;
    *data = mote_half_buffers_take(&dma->halves, &source->lost);
    return *data == NULL ? 0 : (int32_t)dma->config.count;
}

static mote_source_status stop(mote_source_t *source) {
    mote_dma_source_t *dma = (mote_dma_source_t *)source;
    if (dma->running == 0u) return MOTE_SOURCE_OK;
    dma->running = 0;
    source->error = dma->config.end(dma->config.context);
    return source->error == 0 ? MOTE_SOURCE_OK : MOTE_SOURCE_FAILED;
}

void mote_dma_source(mote_dma_source_t *dma, const mote_dma_source_config_t *config) {
    memset(dma, 0, sizeof *dma);
    dma->config = *config;
    dma->source.start = start;
    dma->source.read = read_block;
    dma->source.stop = stop;
}

void mote_dma_source_passed(mote_dma_source_t *dma) { mote_half_buffers_passed(&dma->halves); }
