/* The harness on a simulated AVR: the board serves files and cycles, see measure.S. */
#include "port.h"

#define STACK_PAINT 0xA5 /* also in measure.S */

int mote_measured_call(int (*function)(void), struct port_run *run);
uint32_t mote_ticks_high(void);

/* From the linker script. */
extern uint8_t mote_stack_bottom[];

int port_open(void)
{
    return 0; /* the board has opened both files */
}

int port_device_open(void)
{
    return 1; /* it has no others */
}

int port_device_read(void *data, size_t bytes)
{
    (void)data, (void)bytes;
    return 1;
}

int port_device_write(const void *data, size_t bytes)
{
    (void)data, (void)bytes;
    return 1;
}

int port_counts(void)
{
    return 1;
}

int port_measure(int (*function)(void), struct port_run *run)
{
    run->high_before = mote_ticks_high();
    const int status = mote_measured_call(function, run); /* leaves its stack pointer in run->stack */
    run->high_after = mote_ticks_high();
    const volatile uint8_t *deepest = mote_stack_bottom;
    while (*deepest == STACK_PAINT && (uintptr_t)deepest <= run->stack)
        deepest++;
    run->overflowed = deepest == mote_stack_bottom;
    run->stack -= (uint32_t)((uintptr_t)deepest - 1u);
    return status;
}
