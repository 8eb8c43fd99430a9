#ifndef INC_FREERTOS_H
#define INC_FREERTOS_H

#include <stdint.h>

typedef uint32_t TickType_t;
typedef uint8_t StackType_t;
typedef int BaseType_t;
typedef unsigned UBaseType_t;
typedef struct {
    int unused;
} StaticTask_t;

#define pdMS_TO_TICKS(ms) ((TickType_t)((ms) / 10))
#define portNUM_PROCESSORS 1

#endif
