/* mote_port.c: the service of a model on FreeRTOS. Priorities are those of tasks: tskIDLE_PRIORITY + 1, say. */
#include "mote_service.h"

static void serve(void *service) { mote_service_serve(service); }

/* Milliseconds in ticks, rounded up. */
static TickType_t ticks_of(uint32_t milliseconds) {
    const uint64_t ticks = ((uint64_t)milliseconds * configTICK_RATE_HZ + 999u) / 1000u;
    return milliseconds == MOTE_FOREVER || ticks >= portMAX_DELAY ? portMAX_DELAY : (TickType_t)ticks;
}

int mote_port_open(mote_port_t *port, struct mote_service *service, int priority) {
    const uint32_t words = sizeof port->stack / sizeof port->stack[0];
    unsigned i;
    for (i = 0; i < MOTE_PORT_SEMAPHORES; i++)
        port->semaphores[i] = xSemaphoreCreateCountingStatic(
            MOTE_SERVICE_SLOTS, i == MOTE_PORT_ROOM ? MOTE_SERVICE_SLOTS : 0u, &port->semaphore_memory[i]);
    port->lock = xSemaphoreCreateMutexStatic(&port->lock_memory);
    port->queue = xQueueCreateStatic(MOTE_SERVICE_SLOTS + 1, 1, port->numbers, &port->queue_memory);
    return xTaskCreateStatic(serve, "mote", words, service, (UBaseType_t)priority, port->stack, &port->task_memory) !=
           NULL;
}

/* A wait for ever ends early where INCLUDE_vTaskSuspend is 0. */
static void take(SemaphoreHandle_t semaphore) {
    while (xSemaphoreTake(semaphore, portMAX_DELAY) != pdTRUE) {
    }
}

void mote_port_lock(mote_port_t *port) { take(port->lock); }

void mote_port_unlock(mote_port_t *port) { (void)xSemaphoreGive(port->lock); }

int mote_port_wait(mote_port_t *port, unsigned semaphore, uint32_t milliseconds) {
    if (milliseconds == MOTE_FOREVER) {
        take(port->semaphores[semaphore]);
        return 1;
    }
    return xSemaphoreTake(port->semaphores[semaphore], ticks_of(milliseconds)) == pdTRUE;
}

void mote_port_signal(mote_port_t *port, unsigned semaphore) { (void)xSemaphoreGive(port->semaphores[semaphore]); }

void mote_port_put(mote_port_t *port, uint8_t number) { (void)xQueueSend(port->queue, &number, 0); }

uint8_t mote_port_get(mote_port_t *port) {
    uint8_t number = 0;
    while (xQueueReceive(port->queue, &number, portMAX_DELAY) != pdTRUE) {
    }
    return number;
}
