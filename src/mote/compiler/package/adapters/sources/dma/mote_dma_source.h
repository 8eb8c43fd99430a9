/* mote_dma_source.h: a source without an operating system: circular DMA over a buffer of two halves, with an interrupt at
 * the half and one at the end. Starting and stopping the DMA are two functions of the firmware's:
 *
 *     static int16_t memory[2 * 320];
 *     static mote_dma_source_t microphone;
 *     static int32_t begin(void *context, void *to, uint32_t bytes) {
 *         return (int32_t)HAL_SAI_Receive_DMA((SAI_HandleTypeDef *)context, (uint8_t *)to, (uint16_t)(bytes / 2));
 *     }
 *     static int32_t end(void *context) { return (int32_t)HAL_SAI_DMAStop((SAI_HandleTypeDef *)context); }
 *     void HAL_SAI_RxHalfCpltCallback(SAI_HandleTypeDef *handle) { (void)handle; mote_dma_source_passed(&microphone); }
 *     void HAL_SAI_RxCpltCallback(SAI_HandleTypeDef *handle) { (void)handle; mote_dma_source_passed(&microphone); }
 *
 *     const mote_dma_source_config_t config = {memory, 320, 2, begin, end, &sai};
 *     mote_dma_source(&microphone, &config);
 *     mote_source_start(&microphone.source); */
#ifndef MOTE_DMA_SOURCE_H
#define MOTE_DMA_SOURCE_H

#include "mote_half_buffers.h"
#include "mote_source.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    void *memory;         /* of 2 * `count` values */
    uint32_t count;       /* values of a half: the blocks that are read */
    uint32_t value_bytes; /* 2: int16; 1: uint8 */
    int32_t (*begin)(void *context, void *memory, uint32_t bytes); /* 0, or the driver's code */
    int32_t (*end)(void *context);
    void *context;
} mote_dma_source_config_t;

typedef struct {
    mote_source_t source;
    mote_dma_source_config_t config;
    mote_half_buffers_t halves;
    uint8_t running;
} mote_dma_source_t;

/* Makes a source that does not run yet. */
void mote_dma_source(mote_dma_source_t *dma, const mote_dma_source_config_t *config);

/* Called by the interrupts of the half and of the whole transfer. */
void mote_dma_source_passed(mote_dma_source_t *dma);

#ifdef __cplusplus
}
#endif

#endif
