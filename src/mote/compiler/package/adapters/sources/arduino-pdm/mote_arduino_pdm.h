/* mote_arduino_pdm.h: the PDM microphone of an Arduino board as a source (the library PDM of its core: Nano 33 BLE Sense,
 * Nano RP2040 Connect, Portenta, Nicla).
 *
 *     static int16_t memory[2 * 320];
 *     static mote_arduino_pdm_t microphone;
 *     const mote_arduino_pdm_config_t config = {1, 16000, -1, memory, 320};
 *     mote_arduino_pdm(&microphone, &config);
 *
 * The library has one microphone, so that one source runs at a time. */
#ifndef MOTE_ARDUINO_PDM_H
#define MOTE_ARDUINO_PDM_H

#include "mote_half_buffers.h"
#include "mote_source.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int channels;    /* 1 or 2 */
    int rate;        /* Hz, one that the board supports */
    int gain;        /* of PDM.setGain; -1: the board's */
    int16_t *memory; /* of 2 * `count` values */
    uint32_t count;  /* values of a half, which are the blocks that are read: a multiple of `channels`, and no fewer than
                      * the library hands over at once (256, if not PDM.setBufferSize) */
} mote_arduino_pdm_config_t;

typedef struct {
    mote_source_t source;
    mote_arduino_pdm_config_t config;
    mote_half_buffers_t halves;
} mote_arduino_pdm_t;

enum { MOTE_ARDUINO_PDM_NOT_BEGUN = 1, MOTE_ARDUINO_PDM_IN_USE = 2, MOTE_ARDUINO_PDM_BLOCK = 3 }; /* values of `error` */

/* Makes a source that does not run yet. */
void mote_arduino_pdm(mote_arduino_pdm_t *pdm, const mote_arduino_pdm_config_t *config);

#ifdef __cplusplus
}
#endif

#endif
