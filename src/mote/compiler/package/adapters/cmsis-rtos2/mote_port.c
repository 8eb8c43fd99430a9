/* mote_port.c: the service of a model on CMSIS-RTOS2. Priorities are those of osPriority_t: osPriorityBelowNormal, say. */
#include "mote_service.h"

static void serve(void *service) { mote_service_serve(service); }

/* Milliseconds in ticks of the kernel, rounded up. */
static uint32_t ticks_of(uint32_t milliseconds) {
    const uint64_t ticks = ((uint64_t)milliseconds * osKernelGetTickFreq() + 999u) / 1000u;
    return milliseconds == MOTE_FOREVER || ticks >= osWaitForever ? osWaitForever : (uint32_t)ticks;
}

int mote_port_open(mote_port_t *port, struct mote_service *service, int priority) {
    const osMutexAttr_t lock = {.name = "mote", .attr_bits = osMutexPrioInherit};
    const osThreadAttr_t thread = {
        .name = "mote", .stack_size = MOTE_SERVICE_STACK_BYTES, .priority = (osPriority_t)priority};
    unsigned i;
    int made = 1;
    for (i = 0; i < MOTE_PORT_SEMAPHORES; i++) {
        const uint32_t free = i == MOTE_PORT_ROOM ? MOTE_SERVICE_SLOTS : 0u;
        port->semaphores[i] = osSemaphoreNew(MOTE_SERVICE_SLOTS, free, NULL);
        made &= port->semaphores[i] != NULL;
    }
    port->lock = osMutexNew(&lock);
    port->queue = osMessageQueueNew(MOTE_SERVICE_SLOTS + 1u, 1, NULL);
    if (!made || port->lock == NULL || port->queue == NULL) return 0;
    port->thread = osThreadNew(serve, service, &thread);
    return port->thread != NULL;
}

void mote_port_lock(mote_port_t *port) { (void)osMutexAcquire(port->lock, osWaitForever); }

void mote_port_unlock(mote_port_t *port) { (void)osMutexRelease(port->lock); }

int mote_port_wait(mote_port_t *port, unsigned semaphore, uint32_t milliseconds) {
    return osSemaphoreAcquire(port->semaphores[semaphore], ticks_of(milliseconds)) == osOK;
}

void mote_port_signal(mote_port_t *port, unsigned semaphore) { (void)osSemaphoreRelease(port->semaphores[semaphore]); }

void mote_port_put(mote_port_t *port, uint8_t number) { (void)osMessageQueuePut(port->queue, &number, 0, 0); }

uint8_t mote_port_get(mote_port_t *port) {
    uint8_t number = 0;
    while (osMessageQueueGet(port->queue, &number, NULL, osWaitForever) != osOK) {
    }
    return number;
}
