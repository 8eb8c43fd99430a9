/* mote_arduino_pdm.cpp: see mote_arduino_pdm.h. */
#include "mote_arduino_pdm.h"

#include <PDM.h>
#include <string.h>

static mote_arduino_pdm_t *volatile running = NULL;

/* In the library's interrupt: everything that it has is taken, so that it never has to drop a buffer. */
static void on_receive() {
    uint8_t piece[128];
    mote_arduino_pdm_t *pdm = running;
    for (int left = PDM.available(); left > 0;) {
        const int n = PDM.read(piece, left < (int)sizeof piece ? (size_t)left : sizeof piece);
        if (n <= 0) return;
        if (pdm != NULL) mote_half_buffers_put(&pdm->halves, piece, (uint32_t)n);
        left -= n;
    }
}

static mote_source_status failed(mote_source_t *source, int32_t code) {
    source->error = code;
    return MOTE_SOURCE_FAILED;
}

static mote_source_status start(mote_source_t *source) {
    mote_arduino_pdm_t *pdm = (mote_arduino_pdm_t *)source;
    const mote_arduino_pdm_config_t *config = &pdm->config;
    if (running == pdm) return MOTE_SOURCE_OK;
    if (running != NULL) return failed(source, MOTE_ARDUINO_PDM_IN_USE);
    if (config->channels < 1 || config->count == 0 || config->count % (uint32_t)config->channels != 0)
        return failed(source, MOTE_ARDUINO_PDM_BLOCK);
    source->lost = 0;
    mote_half_buffers_reset(&pdm->halves, config->memory, 2 * config->count, 0);
    running = pdm;
    PDM.onReceive(on_receive);
    if (config->gain >= 0) PDM.setGain(config->gain);
    if (PDM.begin(config->channels, config->rate)) return MOTE_SOURCE_OK;
    running = NULL;
    return failed(source, MOTE_ARDUINO_PDM_NOT_BEGUN);
}

static int32_t read_block(mote_source_t *source, const void **data) {
    mote_arduino_pdm_t *pdm = (mote_arduino_pdm_t *)source;
    if (running != pdm) return MOTE_SOURCE_STOPPED;
    *data = mote_half_buffers_take(&pdm->halves, &source->lost);
    return *data == NULL ? 0 : (int32_t)pdm->config.count;
}

static mote_source_status stop(mote_source_t *source) {
    if (running == (mote_arduino_pdm_t *)source) {
        PDM.end();
        running = NULL;
    }
    return MOTE_SOURCE_OK;
}

void mote_arduino_pdm(mote_arduino_pdm_t *pdm, const mote_arduino_pdm_config_t *config) {
    memset(pdm, 0, sizeof *pdm);
    pdm->config = *config;
    pdm->source.start = start;
    pdm->source.read = read_block;
    pdm->source.stop = stop;
}
