/* mote_port.h: what the service of a model takes from FreeRTOS. All objects lie in the service itself: set
 * configSUPPORT_STATIC_ALLOCATION, configUSE_MUTEXES and configUSE_COUNTING_SEMAPHORES to 1. */
#ifndef MOTE_PORT_H
#define MOTE_PORT_H

#if defined(ESP_PLATFORM) /* ESP-IDF has them in a folder */
#include "freertos/FreeRTOS.h"
#include "freertos/queue.h"
#include "freertos/semphr.h"
#include "freertos/task.h"
#else
#include "FreeRTOS.h"
#include "queue.h"
#include "semphr.h"
#include "task.h"
#endif

#if configSUPPORT_STATIC_ALLOCATION != 1 || configUSE_MUTEXES != 1 || configUSE_COUNTING_SEMAPHORES != 1
#error "FreeRTOSConfig.h: static allocation, mutexes and counting semaphores are needed"
#endif

typedef struct {
    SemaphoreHandle_t lock, semaphores[MOTE_PORT_SEMAPHORES];
    QueueHandle_t queue;
    StaticSemaphore_t lock_memory, semaphore_memory[MOTE_PORT_SEMAPHORES];
    StaticQueue_t queue_memory;
    StaticTask_t task_memory;
    uint8_t numbers[MOTE_SERVICE_SLOTS + 1];
    StackType_t stack[(MOTE_SERVICE_STACK_BYTES + sizeof(StackType_t) - 1) / sizeof(StackType_t)];
} mote_port_t;

#endif
