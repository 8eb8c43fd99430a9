/* FreeRTOS.h: what the adapter uses of FreeRTOS, for tests on a computer. */
#ifndef INC_FREERTOS_H
#define INC_FREERTOS_H

#include "threads.h"

#define configSUPPORT_STATIC_ALLOCATION 1
#define configUSE_MUTEXES 1
#define configUSE_COUNTING_SEMAPHORES 1
#define configTICK_RATE_HZ 250
#define portMAX_DELAY 0xffffffffUL
#define pdTRUE 1
#define pdFALSE 0
#define tskIDLE_PRIORITY 0U

typedef uint32_t TickType_t;
typedef long BaseType_t;
typedef unsigned long UBaseType_t;
typedef uintptr_t StackType_t;
typedef counter_t StaticSemaphore_t, StaticQueue_t;
typedef struct {
    void (*function)(void *);
    void *argument;
} StaticTask_t;
typedef counter_t *QueueHandle_t, *SemaphoreHandle_t;
typedef StaticTask_t *TaskHandle_t;

/* Waits for ever end early at times, as without INCLUDE_vTaskSuspend. */
static inline uint32_t milliseconds_of(TickType_t ticks) {
    return ticks == portMAX_DELAY ? 50 : (uint32_t)((uint64_t)ticks * 1000u / configTICK_RATE_HZ);
}

#endif
