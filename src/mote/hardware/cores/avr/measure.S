/* The services of the simulated board (toolchain/simavr/board.c), and a measured call, for AVR. */
#include <avr/io.h>

#define READ 1
#define WRITE 2
#define EXIT 3
#define TICKS 4
#define HIGH 5
#define STACK_PAINT 0xA5

    .macro function name
    .section .text.\name, "ax", @progbits
    .global \name
    .type \name, @function
\name:
    .endm

/* int port_read(void *data, size_t bytes): the board takes the address from r23:r22 and the size from r21:r20. */
    .macro transfer service
    movw r20, r22
    movw r22, r24
    ldi r24, \service
    out _SFR_IO_ADDR(GPIOR0), r24
    .endm

    function port_read
    transfer READ
    ret
    function port_write
    transfer WRITE
    ret
    function port_exit
    transfer EXIT
1:  rjmp 1b

    function port_ticks
    ldi r24, TICKS
    out _SFR_IO_ADDR(GPIOR0), r24
    ret

    function mote_ticks_high
    ldi r24, HIGH
    out _SFR_IO_ADDR(GPIOR0), r24
    ret

    function port_nothing
    ret

    function port_two_marks
    ldi r24, 0
    ldi r25, 0
    call mote_mark
    ldi r24, 0
    ldi r25, 0
    call mote_mark
    ret

/* int mote_measured_call(int (*function)(void), struct port_run *run): paint all unused stack, then call with a reading of
 * the counter before and after. */
    function mote_measured_call
    push r14
    push r15
    push r28
    push r29
    movw r14, r24
    movw r28, r22
    in r24, _SFR_IO_ADDR(SPL)
    in r25, _SFR_IO_ADDR(SPH)
    std Y + 16, r24             /* run->stack */
    std Y + 17, r25
    std Y + 18, r1
    std Y + 19, r1
    ldi r30, lo8(mote_stack_bottom)
    ldi r31, hi8(mote_stack_bottom)
    ldi r18, STACK_PAINT
1:  st Z+, r18
    cp r30, r24
    cpc r31, r25
    brlo 1b
    call port_ticks
    std Y + 0, r22              /* run->before */
    std Y + 1, r23
    std Y + 2, r24
    std Y + 3, r25
    movw r30, r14
#ifdef EIND
    ldi r24, 0
    out _SFR_IO_ADDR(EIND), r24
#endif
    icall
    movw r14, r24
    call port_ticks
    std Y + 4, r22              /* run->after */
    std Y + 5, r23
    std Y + 6, r24
    std Y + 7, r25
    movw r24, r14
    pop r29
    pop r28
    pop r15
    pop r14
    ret
