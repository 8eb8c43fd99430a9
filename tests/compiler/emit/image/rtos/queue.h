/* queue.h: see FreeRTOS.h beside it. */
#ifndef QUEUE_H
#define QUEUE_H

static inline QueueHandle_t xQueueCreateStatic(UBaseType_t most, UBaseType_t bytes, uint8_t *storage, StaticQueue_t *memory) {
    if (bytes != 1 || storage == NULL) abort();
    counter_make(memory, 0, (unsigned)most);
    return memory;
}
static inline BaseType_t xQueueSend(QueueHandle_t queue, const void *item, TickType_t ticks) {
    (void)ticks;
    return counter_give(queue, *(const uint8_t *)item);
}
static inline BaseType_t xQueueReceive(QueueHandle_t queue, void *item, TickType_t ticks) {
    return counter_take(queue, milliseconds_of(ticks), item);
}

#endif
