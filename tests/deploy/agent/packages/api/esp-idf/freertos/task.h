#ifndef INC_TASK_H
#define INC_TASK_H

#include "freertos/FreeRTOS.h"
#include "line.h"

typedef void *TaskHandle_t;
typedef void (*TaskFunction_t)(void *);

static inline void vTaskDelay(TickType_t ticks) { (void)poll(NULL, 0, (int)ticks * 10); }

/* The task runs at once, on the caller's stack. */
static inline TaskHandle_t xTaskCreateStaticPinnedToCore(TaskFunction_t code, const char *name, uint32_t depth,
                                                         void *parameters, UBaseType_t priority, StackType_t *stack,
                                                         StaticTask_t *task, BaseType_t core) {
    if (name[0] == '\0' || depth < 1024u || priority == 0 || core < 0) exit(3);
    stack[0] = 0;
    code(parameters);
    return task;
}

#endif
