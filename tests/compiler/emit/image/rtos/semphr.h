/* semphr.h: see FreeRTOS.h beside it. */
#ifndef SEMAPHORE_H
#define SEMAPHORE_H

static inline SemaphoreHandle_t xSemaphoreCreateCountingStatic(UBaseType_t most, UBaseType_t count, StaticSemaphore_t *memory) {
    counter_make(memory, (unsigned)count, (unsigned)most);
    return memory;
}
static inline SemaphoreHandle_t xSemaphoreCreateMutexStatic(StaticSemaphore_t *memory) {
    counter_make(memory, 1, 1);
    return memory;
}
static inline BaseType_t xSemaphoreTake(SemaphoreHandle_t semaphore, TickType_t ticks) {
    return counter_take(semaphore, milliseconds_of(ticks), NULL);
}
static inline BaseType_t xSemaphoreGive(SemaphoreHandle_t semaphore) { return counter_give(semaphore, 0); }

#endif
