/* task.h: see FreeRTOS.h beside it. */
#ifndef INC_TASK_H
#define INC_TASK_H

static inline void *begin(void *given) {
    StaticTask_t *task = given;
    task->function(task->argument);
    abort(); /* a task must not return */
}

static inline TaskHandle_t xTaskCreateStatic(void (*function)(void *), const char *name, uint32_t words, void *argument,
                                             UBaseType_t priority, StackType_t *stack, StaticTask_t *memory) {
    if (name == NULL || words == 0 || stack == NULL || priority != 16) abort();
    memory->function = function;
    memory->argument = argument;
    thread_run(begin, memory);
    return memory;
}

#endif
