/* mote_port.h: what the service of a model takes from Zephyr. All objects lie in the service itself. */
#ifndef MOTE_PORT_H
#define MOTE_PORT_H

#include <zephyr/kernel.h>

typedef struct {
    struct k_mutex lock;
    struct k_sem semaphores[MOTE_PORT_SEMAPHORES];
    struct k_msgq queue;
    struct k_thread thread;
    char numbers[MOTE_SERVICE_SLOTS + 1];
    K_KERNEL_STACK_MEMBER(stack, MOTE_SERVICE_STACK_BYTES);
} mote_port_t;

#endif
