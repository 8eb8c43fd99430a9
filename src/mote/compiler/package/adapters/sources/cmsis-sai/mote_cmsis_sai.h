/* mote_cmsis_sai.h: a microphone or codec behind a CMSIS-Driver for serial audio as a source (Driver_SAI.h: SAI and I2S).
 *
 *     extern ARM_DRIVER_SAI Driver_SAI0;
 *     static int16_t memory[2 * 320];
 *     static mote_cmsis_sai_t microphone;
 *     static void on_event(uint32_t event) { mote_cmsis_sai_event(&microphone, event); }
 *
 *     const mote_cmsis_sai_config_t config = {
 *         &Driver_SAI0, on_event,
 *         ARM_SAI_MODE_MASTER | ARM_SAI_ASYNCHRONOUS | ARM_SAI_PROTOCOL_I2S | ARM_SAI_DATA_SIZE(16), 0, 16000,
 *         memory, 320};
 *     mote_cmsis_sai(&microphone, &config);
 *
 * The driver's interrupt starts the transfer of one half when the other one is full. Between them the receiver's FIFO
 * bridges the time; where that overflows, a block is counted as lost. */
#ifndef MOTE_CMSIS_SAI_H
#define MOTE_CMSIS_SAI_H

#include "Driver_SAI.h"
#include "mote_half_buffers.h"
#include "mote_source.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    ARM_DRIVER_SAI *driver;
    ARM_SAI_SignalEvent_t on_event; /* a function that calls mote_cmsis_sai_event: the driver passes no context */
    uint32_t mode;                  /* of ARM_SAI_CONFIGURE_RX: master or slave, protocol, 16 bits of data */
    uint32_t frame;                 /* its first argument: slots and frame, for ARM_SAI_PROTOCOL_USER */
    uint32_t rate;                  /* its second argument: Hz, and ARM_SAI_MCLK_PRESCALER */
    int16_t *memory;                /* of 2 * `count` values */
    uint32_t count;                 /* values of a half: the blocks that are read */
} mote_cmsis_sai_config_t;

typedef struct {
    mote_source_t source;
    mote_cmsis_sai_config_t config;
    mote_half_buffers_t halves;
    volatile uint32_t overflows; /* written by the interrupt */
    uint32_t overflows_before;
    volatile int32_t failure; /* written by the interrupt that could not start a transfer: none follows */
    volatile uint8_t running;
} mote_cmsis_sai_t;

/* Makes a source that does not run yet. */
void mote_cmsis_sai(mote_cmsis_sai_t *sai, const mote_cmsis_sai_config_t *config);

/* Called by the driver's callback. */
void mote_cmsis_sai_event(mote_cmsis_sai_t *sai, uint32_t event);

#ifdef __cplusplus
}
#endif

#endif
