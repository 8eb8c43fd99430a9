/* cmsis_os2.h: what the adapter uses of CMSIS-RTOS2, for tests on a computer. */
#ifndef CMSIS_OS2_H_
#define CMSIS_OS2_H_

#include "threads.h"

#define osWaitForever 0xFFFFFFFFU
#define osMutexPrioInherit 0x00000002U
#define FREQUENCY 250U /* of ticks, so that a wrong conversion shows */

typedef enum { osOK = 0, osErrorTimeout = -2, osErrorResource = -3 } osStatus_t;
typedef enum { osPriorityLow = 8, osPriorityBelowNormal = 16, osPriorityNormal = 24 } osPriority_t;
typedef void *osThreadId_t, *osMutexId_t, *osSemaphoreId_t, *osMessageQueueId_t;
typedef void (*osThreadFunc_t)(void *argument);
typedef struct {
    const char *name;
    uint32_t attr_bits;
    void *cb_mem;
    uint32_t cb_size;
} osMutexAttr_t, osSemaphoreAttr_t, osMessageQueueAttr_t;
typedef struct {
    const char *name;
    uint32_t attr_bits;
    void *cb_mem;
    uint32_t cb_size;
    void *stack_mem;
    uint32_t stack_size;
    osPriority_t priority;
} osThreadAttr_t;

extern int objects_left; /* how many more can be made */

static inline uint32_t osKernelGetTickFreq(void) { return FREQUENCY; }

static inline uint32_t milliseconds_of(uint32_t ticks) {
    return ticks == osWaitForever ? THREADS_FOREVER : (uint32_t)((uint64_t)ticks * 1000u / FREQUENCY);
}

static inline counter_t *counter_new(unsigned count, unsigned most) {
    counter_t *c = objects_left-- > 0 ? calloc(1, sizeof *c) : NULL;
    if (c != NULL) counter_make(c, count, most);
    return c;
}

static inline osSemaphoreId_t osSemaphoreNew(uint32_t most, uint32_t count, const osSemaphoreAttr_t *attributes) {
    (void)attributes;
    return counter_new(count, most);
}
static inline osStatus_t osSemaphoreAcquire(osSemaphoreId_t semaphore, uint32_t ticks) {
    return counter_take(semaphore, milliseconds_of(ticks), NULL) ? osOK : ticks == 0 ? osErrorResource : osErrorTimeout;
}
static inline osStatus_t osSemaphoreRelease(osSemaphoreId_t semaphore) {
    return counter_give(semaphore, 0) ? osOK : osErrorResource;
}
static inline osMutexId_t osMutexNew(const osMutexAttr_t *attributes) {
    if ((attributes->attr_bits & osMutexPrioInherit) == 0) abort();
    return counter_new(1, 1);
}
static inline osStatus_t osMutexAcquire(osMutexId_t mutex, uint32_t ticks) { return osSemaphoreAcquire(mutex, ticks); }
static inline osStatus_t osMutexRelease(osMutexId_t mutex) { return osSemaphoreRelease(mutex); }
static inline osMessageQueueId_t osMessageQueueNew(uint32_t most, uint32_t bytes, const osMessageQueueAttr_t *attributes) {
    (void)attributes;
    if (bytes != 1) abort();
    return counter_new(0, most);
}
static inline osStatus_t osMessageQueuePut(osMessageQueueId_t queue, const void *message, uint8_t priority,
                                           uint32_t ticks) {
    (void)priority, (void)ticks;
    return counter_give(queue, *(const uint8_t *)message) ? osOK : osErrorResource;
}
static inline osStatus_t osMessageQueueGet(osMessageQueueId_t queue, void *message, uint8_t *priority, uint32_t ticks) {
    (void)priority;
    return counter_take(queue, milliseconds_of(ticks), message) ? osOK : osErrorTimeout;
}

typedef struct {
    osThreadFunc_t function;
    void *argument;
} begin_t;

static inline void *begin(void *given) {
    begin_t *what = given;
    what->function(what->argument);
    abort(); /* a service never ends */
}

static inline osThreadId_t osThreadNew(osThreadFunc_t function, void *argument, const osThreadAttr_t *attributes) {
    static begin_t what;
    if (attributes->stack_size == 0 || attributes->priority != osPriorityBelowNormal || objects_left-- <= 0) return NULL;
    what.function = function;
    what.argument = argument;
    thread_run(begin, &what);
    return &what;
}

#endif
