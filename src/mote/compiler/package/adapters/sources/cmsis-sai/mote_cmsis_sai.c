/* mote_cmsis_sai.c: see mote_cmsis_sai.h. */
#include "mote_cmsis_sai.h"

#include <string.h>

/* Stops everything; gives the first error. */
static int32_t end(const mote_cmsis_sai_t *sai) {
    ARM_DRIVER_SAI *driver = sai->config.driver;
    int32_t codes[4], code = ARM_DRIVER_OK;
    int i;
    codes[0] = driver->Control(ARM_SAI_ABORT_RECEIVE, 0, 0);
    codes[1] = driver->Control(ARM_SAI_CONTROL_RX, 0, 0);
    codes[2] = driver->PowerControl(ARM_POWER_OFF);
    codes[3] = driver->Uninitialize();
    for (i = 0; i < 4 && code == ARM_DRIVER_OK; i++) code = codes[i];
    return code;
}

static mote_source_status start(mote_source_t *source) {
    mote_cmsis_sai_t *sai = (mote_cmsis_sai_t *)source;
    const mote_cmsis_sai_config_t *config = &sai->config;
    ARM_DRIVER_SAI *driver = config->driver;
    int32_t code;
    if (sai->running != 0u) return MOTE_SOURCE_OK;
    source->lost = 0;
    sai->failure = ARM_DRIVER_OK;
    sai->overflows_before = sai->overflows;
    mote_half_buffers_reset(&sai->halves, config->memory, 2u * config->count, 0);
    sai->running = 1;
    code = driver->Initialize(config->on_event);
    if (code == ARM_DRIVER_OK) code = driver->PowerControl(ARM_POWER_FULL);
    if (code == ARM_DRIVER_OK) code = driver->Control(ARM_SAI_CONFIGURE_RX | config->mode, config->frame, config->rate);
    if (code == ARM_DRIVER_OK) code = driver->Control(ARM_SAI_CONTROL_RX, 1, 0);
    if (code == ARM_DRIVER_OK) code = driver->Receive(config->memory, config->count);
    if (code == ARM_DRIVER_OK) return MOTE_SOURCE_OK;
    sai->running = 0;
    (void)end(sai);
    source->error = code;
    return MOTE_SOURCE_FAILED;
}

void mote_cmsis_sai_event(mote_cmsis_sai_t *sai, uint32_t event) {
    if (sai->running == 0u) return;
    if ((event & ARM_SAI_EVENT_RX_OVERFLOW) != 0u) sai->overflows = sai->overflows + 1u;
    if ((event & ARM_SAI_EVENT_RECEIVE_COMPLETE) != 0u) {
        const int32_t code = sai->config.driver->Receive(mote_half_buffers_next(&sai->halves), sai->config.count);
        if (code != ARM_DRIVER_OK) sai->failure = code;
    }
}

static int32_t read_block(mote_source_t *source, const void **data) {
    mote_cmsis_sai_t *sai = (mote_cmsis_sai_t *)source;
    const uint32_t overflows = sai->overflows - sai->overflows_before;
    if (sai->running == 0u) return MOTE_SOURCE_STOPPED;
    source->lost += overflows;
    sai->overflows_before += overflows;
    *data = mote_half_buffers_take(&sai->halves, &source->lost);
    if (*data != NULL) return (int32_t)sai->config.count;
    if (sai->failure == ARM_DRIVER_OK) return 0;
    source->error = sai->failure;
    return MOTE_SOURCE_FAILED;
}

static mote_source_status stop(mote_source_t *source) {
    mote_cmsis_sai_t *sai = (mote_cmsis_sai_t *)source;
    if (sai->running == 0u) return MOTE_SOURCE_OK;
    sai->running = 0;
    source->error = end(sai);
    return source->error == ARM_DRIVER_OK ? MOTE_SOURCE_OK : MOTE_SOURCE_FAILED;
}

void mote_cmsis_sai(mote_cmsis_sai_t *sai, const mote_cmsis_sai_config_t *config) {
    memset(sai, 0, sizeof *sai);
    sai->config = *config;
    sai->source.start = start;
    sai->source.read = read_block;
    sai->source.stop = stop;
}
