/* mote_port.h: what the service of a model takes from CMSIS-RTOS2. Objects come from the operating system's own memory. */
#ifndef MOTE_PORT_H
#define MOTE_PORT_H

#include "cmsis_os2.h"

typedef struct {
    osThreadId_t thread;
    osMutexId_t lock;
    osMessageQueueId_t queue;
    osSemaphoreId_t semaphores[MOTE_PORT_SEMAPHORES];
} mote_port_t;

#endif
