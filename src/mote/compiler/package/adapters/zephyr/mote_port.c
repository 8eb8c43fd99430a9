/* mote_port.c: the service of a model on Zephyr. Priorities are those of threads: K_PRIO_PREEMPT(8), say; a smaller
 * number is more urgent. */
#include "mote_service.h"

static void serve(void *service, void *unused, void *neither) {
    (void)unused;
    (void)neither;
    mote_service_serve(service);
}

static k_timeout_t time_of(uint32_t milliseconds) {
    return milliseconds == MOTE_FOREVER ? K_FOREVER : milliseconds == 0u ? K_NO_WAIT : K_MSEC(milliseconds);
}

int mote_port_open(mote_port_t *port, struct mote_service *service, int priority) {
    unsigned i;
    for (i = 0; i < MOTE_PORT_SEMAPHORES; i++)
        (void)k_sem_init(&port->semaphores[i], i == MOTE_PORT_ROOM ? MOTE_SERVICE_SLOTS : 0u, MOTE_SERVICE_SLOTS);
    (void)k_mutex_init(&port->lock);
    k_msgq_init(&port->queue, port->numbers, 1, MOTE_SERVICE_SLOTS + 1);
    (void)k_thread_create(&port->thread, port->stack, K_KERNEL_STACK_SIZEOF(port->stack), serve, service, NULL, NULL,
                          priority, 0, K_NO_WAIT);
    (void)k_thread_name_set(&port->thread, "mote");
    return 1;
}

void mote_port_lock(mote_port_t *port) { (void)k_mutex_lock(&port->lock, K_FOREVER); }

void mote_port_unlock(mote_port_t *port) { (void)k_mutex_unlock(&port->lock); }

int mote_port_wait(mote_port_t *port, unsigned semaphore, uint32_t milliseconds) {
    return k_sem_take(&port->semaphores[semaphore], time_of(milliseconds)) == 0;
}

void mote_port_signal(mote_port_t *port, unsigned semaphore) { k_sem_give(&port->semaphores[semaphore]); }

void mote_port_put(mote_port_t *port, uint8_t number) { (void)k_msgq_put(&port->queue, &number, K_NO_WAIT); }

uint8_t mote_port_get(mote_port_t *port) {
    uint8_t number = 0;
    while (k_msgq_get(&port->queue, &number, K_FOREVER) != 0) {
    }
    return number;
}
